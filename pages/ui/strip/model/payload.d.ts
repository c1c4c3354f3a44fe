// Written by `python -m tools.make_payload_types` from inspector/views/payload.py.
/** What a cell is: a token, or a delivered piece of text where no token ids are known. */
export type Unit = "token" | "piece";

/** A token of the vocabulary: its text, null for a part of a character, and its bytes as hex. */
export type Entry = [string | null, string];

/** What became of a cell. Framing is never delivered; an unsent cell is one that the server did not send. */
export type CellFate =
  | "framing"
  | "delivered"
  | "misrouted"
  | "lost"
  | "left_out"
  | "rejected"
  | "unsent"
  | "unknown";

/** What is special about text: in another order or with other characters than generated, generated for no field of the client, or delivered without tokens of its own. */
export type Sign = "" | "reordered" | "garbled" | "unserved" | "added" | "duplicated" | "separator";

/** Neighbouring cells of one fate: start, end, fate, the lane that they were generated for, the lane that they arrived in, and what is special about them. */
export type FateRun = [number, number, CellFate, number | null, number | null, Sign];

/** Text in a lane: the cells from start to end, or text that stands before cell start where both are the same. The text is null where it is that of the cells. */
export type Piece = [number, number, string | null, Sign];

/** The events that brought the cells, as columns. */
export interface Events {
  /** Number of each event in the capture; -1 when it is not known. */
  index: number[];
  /** First cell that it brought. */
  start: number[];
  /** Seconds from the request; null when some are not known. */
  at: number[] | null;
}

/** Cells of one message, of one refused run, or of one field where no token ids are known. */
export interface Block {
  kind: "message" | "refused" | "field";
  start: number;
  /** First cell of the body. */
  body: number;
  end: number;
  role: string | null;
  /** The channel of a message, the name of a field. */
  channel: string | null;
  recipient: string | null;
  content_type: string | null;
  /** False for a message that ends inside its header. */
  in_body?: boolean;
  complete: boolean;
  /** The parser's words on a refused run. */
  reason: string;
  /** State of the parser at a refused run. */
  state?: string;
  /** Cells that the parser rejected. */
  culprit?: [number, number] | null;
  /** Whether the words are those of the server's own error. */
  quoted?: boolean;
  /** Number of the message on its side of a comparison; elsewhere messages are counted as they stand. */
  message?: number | null;
  /** True for the rest of a message that an earlier block of the comparison began. */
  continued?: boolean;
}

/** Blocks that follow the first `from` ones, which stay. */
export interface BlockChange {
  from: number;
  items: Block[];
}

/** A field of the client. */
export interface Lane {
  field: string;
  label: string;
  /** All of its text, in the order of arrival. */
  pieces: Piece[];
}

/** What a server made of the cells. */
export interface Pipeline {
  /** Empty for a list of token IDs, which no server delivered. */
  server: string;
  /** Tokens of the fullest event; null where that was not measured. */
  per_event: number | null;
  /** In the order in which they appear in the stream. */
  lanes: Lane[];
  /** They cover every cell once. */
  fates: FateRun[];
}

/** Fates that follow the first `from` ones, which stay. */
export interface FateChange {
  from: number;
  items: FateRun[];
}

/** A field of the client with the pieces that follow its first `from` ones, which stay. */
export interface LaneChange {
  from: number;
  field: string;
  label: string;
  pieces: Piece[];
}

/** What an audit adds to a `Pipeline`, or changes at its end. */
export interface PipelineChange {
  server: string;
  per_event: number | null;
  /** All lanes. */
  lanes: LaneChange[];
  fates: FateChange;
}

/** A cell that stands for what the server never sent: its error names it, or its count has it. */
export interface UnsentCell {
  /** The cell. */
  at: number;
  kind: "gap" | "token" | "header";
  id: number | null;
  text: string;
  /** The words in a cell without text. */
  label: string;
  /** What it is, in a sentence. */
  words: string;
}

/** A known issue that a finding belongs to. */
export interface IssueRow {
  id: string;
  title: string;
  side: string;
  fix: string;
}

/** A kind of finding, as the page needs it. */
export interface KindRow {
  /** As a title says it. */
  label: string;
  /** True when the cells of its findings themselves are wrong. */
  marks: boolean;
  /** Whose doing it is, as a `Side`. */
  side: string;
  /** True when it is about the text that arrived; others say nothing against what was delivered. */
  of_delivery: boolean;
}

/** What is the same for every capture. */
export interface Tables {
  /** The kinds of finding; differences of captures have others. */
  kinds: Record<string, KindRow>;
  /** IDs of the special tokens that frame messages. */
  special_tokens: number[];
}

/** Where a finding lies, given where cells are not tokens; then it counts, not its tokens. */
export interface CellSpan {
  cell_start?: number | null;
  cell_end?: number | null;
}

/** A finding, or a difference of two captures. */
export interface FindingRow {
  cell_start?: number | null;
  cell_end?: number | null;
  kind: string;
  severity: string;
  title: string;
  line: string;
  explanation: string;
  field: string | null;
  token_start: number | null;
  token_end: number | null;
  event_start: number | null;
  event_end: number | null;
  generated: string | null;
  delivered: string | null;
  delivered_in: string | null;
  choice: number;
  sent: boolean;
  known_issues: IssueRow[];
}

/** Findings that follow the first `from` ones, which stay. */
export interface FindingChange {
  from: number;
  items: FindingRow[];
}

/** Columns of cells: of a whole stream, or of those that are new. */
export interface Columns {
  /** Cells of the stream then. */
  count: number;
  /** Token ids; null for pieces. */
  ids: (number | null)[] | null;
  /** The distinct ids; those outside the vocabulary have no entry. */
  vocab: Record<string, Entry>;
  /** Texts by cell where the vocabulary does not have them: of pieces, and around split characters. */
  texts: Record<string, string>;
  events: Events;
  unsent: UnsentCell[];
}

/** A whole stream. */
export interface Cells {
  /** Cells of the stream then. */
  count: number;
  /** Token ids; null for pieces. */
  ids: (number | null)[] | null;
  /** The distinct ids; those outside the vocabulary have no entry. */
  vocab: Record<string, Entry>;
  /** Texts by cell where the vocabulary does not have them: of pieces, and around split characters. */
  texts: Record<string, string>;
  events: Events;
  unsent: UnsentCell[];
  unit: Unit;
  blocks: Block[];
}

/** Whether the cells are tokens that nobody sent, as the final object of Responses tells them. */
export interface ReconstructionRow {
  reconstructed?: boolean;
  /** Spans of reconstructed tokens whose ID is one of several that fit. */
  uncertain?: [number, number][];
}

/** Log probabilities as the server told them. */
export interface LogprobColumns {
  /** By cell; null where the server told none. */
  values: (number | null)[];
  /** By cell the likeliest alternatives: text and log probability. */
  top: Record<string, [string, number][]>;
}

/** Log probabilities, where a capture has them. */
export interface LogprobRow {
  logprobs?: LogprobColumns;
}

/** Everything that the strip shows of one choice of a capture, or of two captures compared. */
export interface Payload {
  /** Cells of the stream then. */
  count: number;
  /** Token ids; null for pieces. */
  ids: (number | null)[] | null;
  /** The distinct ids; those outside the vocabulary have no entry. */
  vocab: Record<string, Entry>;
  /** Texts by cell where the vocabulary does not have them: of pieces, and around split characters. */
  texts: Record<string, string>;
  events: Events;
  unsent: UnsentCell[];
  unit: Unit;
  blocks: Block[];
  /** The kinds of finding; differences of captures have others. */
  kinds: Record<string, KindRow>;
  /** IDs of the special tokens that frame messages. */
  special_tokens: number[];
  reconstructed?: boolean;
  /** Spans of reconstructed tokens whose ID is one of several that fit. */
  uncertain?: [number, number][];
  logprobs?: LogprobColumns;
  /** Identity of what is shown; the same key keeps place and selection. */
  key: string;
  /** Cells that the server sent; those after them are `unsent`. */
  sent: number;
  /** Cells of a comparison that are folded away. */
  hidden: number;
  /** The picture of the stream; of a comparison two. */
  pipelines: Pipeline[];
  findings: FindingRow[];
  first_at: number | null;
  last_at: number | null;
  finish: string | null;
  evidence: string;
}

/** Where a growing stream is. */
export interface StreamState {
  /** Events of the stream then: of two states the one with fewer is the older. */
  events: number;
  state: string;
  channel: string | null;
  recipient: string | null;
  message: number | null;
}

/** Figures of a run so far; times in seconds. */
export interface PaceRow {
  tokens: number;
  events: number;
  tokens_per_s: number | null;
  first_token_s: number | null;
  last_token_s: number | null;
  gap_p50_s: number | null;
  gap_p95_s: number | null;
}

/** The verdict on a run so far. */
export interface VerdictRow {
  level: string;
  sentence: string;
  why: string;
  known: string;
}

/** What changes when a run grows: columns of the cells after the first `from`, and what else is new. */
export interface Increment {
  from: number;
  /** Cells of the stream then. */
  count: number;
  /** Token ids; null for pieces. */
  ids: (number | null)[] | null;
  /** The distinct ids; those outside the vocabulary have no entry. */
  vocab: Record<string, Entry>;
  /** Texts by cell where the vocabulary does not have them: of pieces, and around split characters. */
  texts: Record<string, string>;
  events: Events;
  unsent: UnsentCell[];
  reconstructed?: boolean;
  /** Spans of reconstructed tokens whose ID is one of several that fit. */
  uncertain?: [number, number][];
  /** null while no cell is known. */
  unit: Unit | null;
  blocks: BlockChange;
  /** What the picture has more, when an audit has told it. */
  pipelines?: PipelineChange[];
  /** The findings, when an audit has told them. */
  findings?: FindingChange;
  last_at?: number | null;
  finish?: string | null;
  now?: StreamState;
  pace?: PaceRow;
  verdict?: VerdictRow;
  /** Tokens that the audit saw. */
  audited?: number;
  /** True when another increment follows at once. */
  more?: boolean;
}

/** What comes with a payload: its identity, and what the page wants to be selected. */
export interface Head {
  /** Another one means another payload. */
  digest: string;
  /** Another one means a new wish. */
  nonce: number;
  token: number | null;
  finding: number | null;
  /** The other end of a range that begins or ends at the token. */
  to: number | null;
  /** `client` for the response as a client shows it; null for the tokens. */
  view: string | null;
  /** Address of the increments of a growing run. */
  feed: string | null;
  /** True on the page of live runs, whose token IDs and headers are shown at first. */
  live: boolean;
}

/** What the strip tells the page: where the user is in it. */
export interface Selected {
  key: string;
  token: number | null;
  finding: number | null;
  /** The other end of the chosen range. */
  to: number | null;
  view: string | null;
  /** Milliseconds of the browser's clock. */
  at: number;
}
