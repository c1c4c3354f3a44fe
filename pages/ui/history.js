// What the browser's Back goes through: pages, captures and runs. Streamlit makes an entry of every change of the
// address, also for each chosen token; those take the place of the entry before. Without it Back
// goes through tokens: test_back_goes_through_captures_and_pages_and_not_through_tokens in tests/browser holds it.

// Parameters whose values somebody chose.
const CHOICES = "capture left right run trial probe scan release script from to".split(" ");
const NARROWING = ["filter"]; // the first value is a step too

/**
 * True where a change of the address is a step of its own; a page that only adds what it opened with is none.
 * @param {URL} from
 * @param {URL} to
 */
export function isStep(from, to) {
  if (from.pathname !== to.pathname) return true;
  const differs = (/** @type {string} */ name) => from.searchParams.get(name) !== to.searchParams.get(name);
  return CHOICES.some((name) => from.searchParams.has(name) && differs(name)) || NARROWING.some(differs);
}

/**
 * Streamlit writes the parameters of a page that opens into the address of the page that is left, and changes the path
 * after that. What it wrote so since somebody acted last is of no step, and is taken back.
 * @param {Pick<History, "pushState" | "replaceState" | "state">} history
 * @returns {() => void} to be called when somebody acts
 */
export function keepSteps(history, address = () => new URL(location.href)) {
  const push = history.pushState.bind(history);
  /** @type {{ data: unknown, url: URL, pushed: boolean } | null} where somebody acted last */
  let acted = null;
  history.pushState = (data, unused, url) => {
    const from = address();
    const to = new URL(url ?? from, from);
    const turned = from.pathname !== to.pathname && from.search === to.search;
    if (turned && acted?.url.pathname === from.pathname) {
      const { pushed, data: old, url: address } = acted;
      acted = null;
      if (pushed) return history.replaceState(data, unused, url);
      history.replaceState(old, "", address);
    } else if (url != null && !isStep(from, to)) return history.replaceState(data, unused, url);
    if (acted) acted.pushed = true;
    push(data, unused, url);
  };
  return () => {
    acted = { data: history.state, url: address(), pushed: false };
  };
}

if (typeof window !== "undefined") {
  const acts = keepSteps(window.history);
  for (const act of ["pointerdown", "keydown"]) window.addEventListener(act, acts, { capture: true });
}
