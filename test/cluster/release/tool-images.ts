import { IMAGES } from '../machine/images.ts'

/** Returns the flags of helm with which the chart offers built-in metrics that have a tool. */
export function withTools(...metrics: readonly ('cpu-profile' | 'mpi-trace')[]): readonly string[] {
  const [, registry, repository, tag] = /^([^/]+)\/(.*):(.*)$/.exec(IMAGES.tools) ?? []
  const fields = Object.entries({ registry, repository, tag }).flatMap(([field, value]) => {
    return ['--set', `tools.image.${field}=${value}`]
  })
  return ['--set', `tools.metrics={${metrics.join(',')}}`, ...fields]
}
