import type { RunEvidence } from '../evidence/run-evidence.ts'
import type { ProgramEnd } from '../rules/program-end.ts'
import { METRICS } from './index.ts'

/** Returns what the metrics of a run say about the end of the program. */
export function readProgramEnds(run: RunEvidence): readonly ProgramEnd[] {
  return METRICS.flatMap((metric) => ('end' in metric ? (metric.end(run) ?? []) : []))
}
