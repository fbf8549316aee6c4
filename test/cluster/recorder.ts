import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-ports.ts'
import type { Cluster } from './machine/cluster.ts'

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

/** A running `ridealong record`. */
export interface RunningRecorder {
  readonly child: ChildProcess
  /** Returns the output on both streams until now. */
  text(): string
  /** Resolves when the recorder is ready; rejects if it ends before it is ready. */
  readonly ready: Promise<void>
  /** Resolves with the exit code, after all output was read. */
  readonly ended: Promise<number | null>
}

/** Starts `ridealong record`, which writes to a folder. */
export async function startRecorder(
  { kubeconfig }: Pick<Cluster, 'kubeconfig'>,
  folder: string,
  words: readonly string[],
): Promise<RunningRecorder> {
  const port = await freePort()
  const url = ['--url', `https://127.0.0.1:${port}`, '--host', '127.0.0.1']
  const child = spawn(process.execPath, [
    ...[MAIN, 'record', folder, '--kubeconfig', kubeconfig],
    ...[...url, ...words],
  ])
  let text = ''
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (text.includes('recording pods of')) resolve()
      })
    }
    child.once('close', () => reject(new Error(`the recorder ended before it was ready: ${text}`)))
  })
  ready.catch(() => {})
  const ended = once(child, 'close').then(([code]) => code)
  return { child, ready, ended, text: () => text }
}
