import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type ArtifactResult, openArtifactFolder } from '../../src/runs/collect/artifacts.ts'

/** The raw files in the log of an observer. */
export interface CollectedFiles extends ArtifactResult {
  /** Returns the path of a file. */
  readonly path: (file: string) => string
  readonly read: (file: string) => Buffer
}

/** Collects the raw files in a log, as `collect --output artifacts` does. */
export async function collectFiles(
  t: Test,
  log: string,
  container: string,
): Promise<CollectedFiles> {
  const folder = t.testdir({})
  const place = {
    namespace: 'hpc',
    pod: 'pod',
    uid: 'uid',
    owner: null,
    node: null,
    pod_index: null,
  }
  const attempt = {
    attempt: null,
    isPrevious: false,
    before: null,
    state: 'ended',
    restarts: 0,
    earlierPods: 0,
    message: null,
  } as const
  const state = { ...attempt, notices: [], ended: null }
  const podLimits = { cpu: null, memory: null }
  const reader = openArtifactFolder(folder).open({ ...place, ...state, podLimits, container })
  for (const line of log.split('\n')) await reader.push(line)
  const path = (file: string) => join(folder, 'pod', container, file)
  return { ...(await reader.end()), path, read: (file) => readFileSync(path(file)) }
}
