import { reportModel, type Unit } from '../../../../src/runs/report/data.ts'
import { findingsDocument } from '../../../../src/runs/report/document/findings-document.ts'
import type { CollectedRun } from '../../../../src/runs/report/gather.ts'

/** Returns the document of a run, as `report --output json` prints it. */
export function documentOf(run: CollectedRun, title: string, unit: Unit = 'auto') {
  return findingsDocument(reportModel(run, unit), title)
}
