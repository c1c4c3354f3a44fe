// What the browser's Back goes through: pages, captures and runs. Streamlit makes an entry of every change of the
// address, also for each chosen token; those take the place of the entry before.

const CHOICES = ["capture", "left", "right", "run", "trial"]; // parameters whose values somebody chose

/**
 * True where a change of the address is a step of its own; a page that only adds what it opened with is none.
 * @param {URL} from
 * @param {URL} to
 */
export function isStep(from, to) {
  if (from.pathname !== to.pathname) return true;
  return CHOICES.some((name) => {
    const before = from.searchParams.get(name);
    return before !== null && before !== to.searchParams.get(name);
  });
}

/** @param {Pick<History, "pushState" | "replaceState">} history */
export function keepSteps(history, here = () => new URL(location.href)) {
  const push = history.pushState.bind(history);
  history.pushState = (data, unused, url) => {
    const from = here();
    if (url == null || isStep(from, new URL(url, from))) push(data, unused, url);
    else history.replaceState(data, unused, url);
  };
}

if (typeof window !== "undefined") keepSteps(window.history);
