import { setTimeout as sleep } from 'node:timers/promises'
import { sampleOf } from '../../../webhook/server.ts'

/** The time between two compactions of the apiserver, in seconds. */
export const COMPACTION_SECONDS = 30

/** The largest difference between two sizes that count as the same, in bytes. */
const SAME = 256 * 1024

/** The number of compactions that change nothing: the second one has only deleted objects. */
const EQUAL = 2

/** Returns the bytes that etcd uses. @param url the URL of its metrics */
export async function readSize(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return sampleOf(text, 'etcd_mvcc_db_total_size_in_use_in_bytes') ?? Number.NaN
}

/** Waits until compactions do not change the size in use any more, and returns it in MiB. */
export async function compactedSize(url: string): Promise<number> {
  let [last, equal] = [await readSize(url), 0]
  while (equal < EQUAL) {
    await sleep(COMPACTION_SECONDS * 1000)
    const size = await readSize(url)
    equal = Math.abs(size - last) <= SAME ? equal + 1 : 0
    last = size
  }
  return last / 1024 ** 2
}
