import { open, stat } from 'node:fs/promises'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import type { ReportModel } from '../../src/runs/report/data.ts'
import { podsOfRun, readPagePods } from '../../src/runs/report/document/page-pods.ts'
import { UsageError, usageError } from '../shared/errors.ts'

/** The number of bytes at the beginning of a page that contain the element with its pods. */
const START_BYTES = 64 * 1024

/**
 * Writes the page of a run.
 *
 * @param isForced whether to replace a file that is not a page of the same run
 * @throws UsageError if the file cannot be written, or would have to be forced
 */
export async function writePage(
  path: string,
  parts: Iterable<string>,
  { model: { run } }: { readonly model: ReportModel },
  isForced: boolean,
): Promise<void> {
  if (!isForced) await mustBeSameRun(path, podsOfRun(run))
  await writeWholeFile(path, parts).catch(cannotWrite(path)).catch(usageError)
}

async function mustBeSameRun(path: string, pods: readonly string[]): Promise<void> {
  const start = await readStart(path).catch(() => '')
  if (start === '') return
  const before = readPagePods(start)
  if (before?.some((pod) => pods.includes(pod))) return
  const what = before === undefined ? 'is not a page of a run' : 'is the page of another run'
  throw new UsageError(`${path} ${what}: use --force to replace it, or --to with another file`)
}

/** Reads the beginning of a file; an empty text if it is a device or a folder. */
async function readStart(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) return ''
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
