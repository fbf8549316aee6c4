import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from './tools.ts'

/**
 * The folder that contains Flux and the controllers of other projects. No package registry provides
 * these programs. docs/contributing/controllers.md explains how to build them.
 */
export const OPERATORS_FOLDER = process.env.RIDEALONG_OPERATORS || join(CACHE, 'operators')

/** The architecture of this machine, as Go names it. */
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch

/** The controllers, by the name of each program. */
export const OPERATORS = ['flux-operator', 'jobset', 'metrics-operator', 'mpi-operator'] as const
export type Operator = (typeof OPERATORS)[number]

/** The archive of Flux, installed with the prefix /opt/flux on Debian bookworm. */
export const FLUX_CORE = `flux-core-0.88.0-bookworm-${ARCHITECTURE}.tar.xz`

/** Returns the name of the file of a controller, which is compressed with xz. */
export function fileOfOperator(name: Operator): string {
  return `${name}-${ARCHITECTURE}.xz`
}

/**
 * Returns a sentence about the files that the folder does not contain; undefined if it is complete.
 */
export function problemOfOperatorsFolder(): string | undefined {
  const files = [FLUX_CORE, ...OPERATORS.map(fileOfOperator)]
  const missing = files.filter((file) => !existsSync(join(OPERATORS_FOLDER, file)))
  if (missing.length === 0) return undefined
  const names = missing.join(', ')
  return `the folder that RIDEALONG_OPERATORS names, ${OPERATORS_FOLDER}, does not contain ${names}`
}
