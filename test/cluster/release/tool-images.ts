import { IMAGES } from '../machine/images.ts'

/** Returns the flags of helm with which the chart offers a built-in metric that has a tool. */
export function withTool(metric: 'cpu-profile' | 'mpi-trace'): readonly string[] {
  const [, registry, repository, tag] = /^([^/]+)\/(.*):(.*)$/.exec(IMAGES[metric]) ?? []
  return Object.entries({ registry, repository, tag }).flatMap(([field, value]) => {
    return ['--set', `toolImages.${metric}.${field}=${value}`]
  })
}
