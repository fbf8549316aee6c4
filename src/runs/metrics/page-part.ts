/** A table that a metric adds to the page of the report, in a topic of its own. */
export interface PagePart {
  /** Identifies the topic in the page. */
  readonly id: string
  readonly title: string
  /** A few words about the content, for the title. */
  readonly facts: string
  /** How to use the table; texts, code and addresses. */
  readonly note: readonly (string | { readonly code: string } | { readonly link: string })[]
  /** The columns after that of the pod. */
  readonly columns: readonly PartColumn[]
  /** The rows, in the order of the pods. */
  readonly rows: readonly PartRow[]
  /** Says what is left out; empty if nothing is. */
  readonly left: string
}

export interface PartColumn {
  readonly title: string
  /** The unit of its numbers, such as bytes; missing if they are shown as they are. */
  readonly unit?: string
}

export interface PartRow {
  readonly pod: string
  /** The cells of the columns; null without a value. */
  readonly cells: readonly (string | number | null)[]
}

/** What a metric adds to a report. */
export interface MetricReport {
  readonly part: PagePart
  /** What `report --output json` has of it. */
  readonly document: Readonly<Record<string, unknown>>
}
