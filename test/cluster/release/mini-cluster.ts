import { recorded } from '../../cases/read.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'

/**
 * Returns the Job that the Flux Operator creates for a MiniCluster, built from the recorded pods.
 * The images, the command and the resources differ, and the ConfigMap of scripts is not mounted.
 *
 * @param work the shell command of every rank
 */
export function miniCluster(name: string, work: string): object {
  const { spec, metadata } = JSON.parse(recorded('flux-minicluster-rank0')).request.object
  const { hostname: _, priority: __, ...others } = spec
  const entrypoint = ({ name }: { readonly name: string }) => name.endsWith('-entrypoint')
  const container = (recorded: Container, command: string) => ({
    ...recorded,
    image: DEBIAN_IMAGE,
    command: ['/bin/bash', '-c', command],
    resources: {},
    volumeMounts: recorded.volumeMounts.filter((mount) => !entrypoint(mount)),
  })
  const pod = {
    ...others,
    subdomain: name,
    volumes: spec.volumes.filter((volume: Container) => !entrypoint(volume)),
    initContainers: spec.initContainers.map((one: Container) => container(one, 'true')),
    containers: spec.containers.map((one: Container) => container(one, work)),
  }
  const template = { metadata: { labels: { app: metadata.labels.app } }, spec: pod }
  const indexed = { completions: 2, parallelism: 2, completionMode: 'Indexed', backoffLimit: 0 }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { ...indexed, template } }
}

interface Container {
  readonly name: string
  readonly volumeMounts: readonly { readonly name: string }[]
}
