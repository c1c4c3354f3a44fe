/** What Streamlit hands a component of its v2 kind, as far as ours use it. */
export interface Component<Data> {
  data: Data;
  parentElement: Element | ShadowRoot;
  setStateValue: (name: string, value: unknown) => void;
  /** Told once: the next run of the page does not see it. */
  setTriggerValue?: (name: string, value: unknown) => void;
}
