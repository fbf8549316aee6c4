import type { Catalog } from '../../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readServerVersion } from '../../core/kubernetes/server-version.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import { IMAGE_VOLUMES_SINCE } from '../../core/tools/tool.ts'
import { check, fault, type InstallationCheck, judged } from './check.ts'
import { type Installation, readCatalog } from './installation.ts'

const NAME = 'image volumes'
const REMEDY =
  'set tools.imageVolumes to false (and use an installer in catalog.metrics), or upgrade; see' +
  ' docs/metrics/tools.md'

/**
 * The first versions of container runtimes that mount a folder of an image (`subPath`), by the name
 * in Node.status.nodeInfo: containerd v2.2.0 internal/cri/server/container_image_mount.go, and
 * cri-o v1.33 server/container_create_linux.go.
 */
const RUNTIMES: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  containerd: [2, 2],
  'cri-o': [1, 33],
}

/** The maximum number of nodes that a sentence names. */
const MAX_NAMED = 5

/** Returns the names of the metrics of a catalog whose tools are mounted from their images. */
export function mountedMetrics(catalog: Catalog | undefined): readonly string[] {
  const metrics = [...(catalog?.metrics.values() ?? [])]
  return metrics.flatMap(({ name, tool }) => (tool?.imageVolume === undefined ? [] : [name]))
}

/**
 * Checks whether the apiserver and the nodes have image volumes. Returns no checks if no tool of
 * the catalog needs them.
 */
export function imageVolumeChecks(installation: Installation): readonly InstallationCheck[] {
  const { release, platform } = installation
  const metrics = mountedMetrics(readCatalog(release)).join(', ')
  if (metrics === '' || platform === undefined) return []
  return [
    judged(NAME, platform.version, (info) => apiserverCheck(info, metrics)),
    judged(NAME, platform.nodes, (nodes) => nodesCheck(nodes, metrics)),
  ]
}

function apiserverCheck(info: Fields | undefined, metrics: string): InstallationCheck {
  const version = readServerVersion(info ?? {})
  if (version === undefined) return check(NAME, 'unknown', 'the apiserver tells no version 1.N')
  if (version >= IMAGE_VOLUMES_SINCE)
    return check(NAME, 'ok', `the apiserver has version 1.${version}`)
  const needed = `the tools of ${metrics} are mounted from their image, which needs Kubernetes`
  const sentence = `${needed} 1.${IMAGE_VOLUMES_SINCE}; the apiserver has version 1.${version}`
  return fault(NAME, sentence, REMEDY)
}

/** Whether a node can mount a folder of an image, and a description of its versions. */
interface JudgedNode {
  readonly verdict: 'able' | 'old' | 'unknown'
  readonly described: string
}

function nodesCheck(nodes: readonly Fields[], metrics: string): InstallationCheck {
  const judgedNodes = nodes.filter(isLinux).map(judgeNode)
  const [old, unknown] = (['old', 'unknown'] as const).map((verdict) =>
    judgedNodes.filter((node) => node.verdict === verdict),
  )
  if (old !== undefined && old.length > 0) {
    const sentence =
      `${old.length} of ${judgedNodes.length} nodes cannot mount the tools of ${metrics} from` +
      ` their image, so pods that request them do not start there: ${listNodes(old)}`
    return fault(NAME, sentence, `${REMEDY}. ${NEEDED}`)
  }
  if (unknown !== undefined && unknown.length > 0) {
    const sentence = `find out whether these nodes have image volumes: ${listNodes(unknown)}`
    return check(NAME, 'look', sentence)
  }
  return check(
    NAME,
    'ok',
    `${judgedNodes.length} of ${judgedNodes.length} nodes have them. ${MAPPED}`,
  )
}

const NEEDED =
  `A node needs Kubernetes 1.${IMAGE_VOLUMES_SINCE}, and ` +
  Object.entries(RUNTIMES)
    .map(([name, version]) => `${name} ${version.join('.')}`)
    .join(' or ')

/** What only a run can show: containerd and CRI-O mount images without `noexec` today. */
const MAPPED =
  'The image must also be mounted without noexec, so that the library can be mapped; otherwise,' +
  ' the programs run without it, and a notice in the log of the observer says so'

function isLinux({ status }: Fields): boolean {
  return fieldsOrNone(fieldsOrNone(status).nodeInfo).operatingSystem !== 'windows'
}

function judgeNode({ metadata, status }: Fields): JudgedNode {
  const { kubeletVersion, containerRuntimeVersion } = fieldsOrNone(fieldsOrNone(status).nodeInfo)
  const kubelet = asText(kubeletVersion) ?? 'an unknown kubelet'
  const runtime = asText(containerRuntimeVersion) ?? 'an unknown runtime'
  const name = asText(fieldsOrNone(metadata).name) ?? ''
  const minor = /^v1\.(\d+)\./.exec(kubelet)?.[1]
  const verdicts = [
    minor === undefined ? 'unknown' : Number(minor) >= IMAGE_VOLUMES_SINCE ? 'able' : 'old',
    judgeRuntime(runtime),
  ] as const
  const verdict = (['old', 'unknown'] as const).find((each) => verdicts.includes(each)) ?? 'able'
  return { verdict, described: `${name} (${kubelet}, ${runtime})` }
}

/** @param runtime the name and the version, such as `containerd://2.4.2` */
function judgeRuntime(runtime: string): JudgedNode['verdict'] {
  const [, name = '', major, minor] = /^([a-z-]+):\/\/v?(\d+)\.(\d+)/.exec(runtime) ?? []
  const least = Object.hasOwn(RUNTIMES, name) ? RUNTIMES[name] : undefined
  if (least === undefined) return 'unknown'
  const isNewer = Number(major) > least[0]
  return isNewer || (Number(major) === least[0] && Number(minor) >= least[1]) ? 'able' : 'old'
}

function listNodes(nodes: readonly JudgedNode[]): string {
  return nameFirst(
    nodes.map(({ described }) => described),
    MAX_NAMED,
  )
}
