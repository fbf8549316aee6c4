import type { RowsDescription } from '../../core/catalog.ts'
import type { Sample } from './columns.ts'
import type { LogEntry } from './entry.ts'

/**
 * The samples of metrics that are not in the catalog, by log. The entry at the end of a log
 * describes their rows. If this entry is missing or has no description, the samples remain. They
 * are kept as JSON, which needs less memory.
 */
export type Undescribed = Map<string, string[]>

/** Keeps a sample until the entry at the end of its log is read. */
export function keepUndescribed(undescribed: Undescribed, sample: Sample): void {
  const samples = undescribed.get(sample.source ?? '') ?? []
  undescribed.set(sample.source ?? '', samples)
  samples.push(JSON.stringify(sample))
}

/** Takes the samples of a log that its last entry describes, each with this description. */
export function* takeDescribed(
  undescribed: Undescribed,
  { source, rows }: Pick<LogEntry, 'source' | 'rows'>,
): Generator<{ readonly sample: Sample; readonly rows: RowsDescription }> {
  if (rows === null) return
  const samples = undescribed.get(source ?? '') ?? []
  undescribed.delete(source ?? '')
  for (const sample of samples) yield { sample: JSON.parse(sample), rows }
}
