/** What Streamlit hands a component of its v2 kind, as far as ours use it. */
export interface Component<Data> {
  data: Data;
  parentElement: Element | ShadowRoot;
  setStateValue: (name: string, value: unknown) => void;
}
