import t from 'tap'
import { examine } from '../../../../src/pods/doctor/examine.ts'
import type { Platform } from '../../../../src/pods/doctor/installation.ts'
import type { Json } from '../../core/build.ts'
import { MOUNTED, SHARED } from '../../core/tools/build.ts'
import { forbidden, WELL, withRelease } from './build.ts'

const { release } = withRelease({ offer: { value: { kind: 'whole', catalog: MOUNTED } } })

/** Returns a node with versions as in Node.status.nodeInfo. */
function node(name: string, kubelet: string, runtime: string, more: Json = {}): Json {
  const nodeInfo = { kubeletVersion: kubelet, containerRuntimeVersion: runtime, ...more }
  return { metadata: { name }, status: { nodeInfo: { operatingSystem: 'linux', ...nodeInfo } } }
}

const ABLE = node('able', 'v1.36.3', 'containerd://2.4.2+unknown')

function checksOf(change: Partial<Platform>, more: Partial<typeof WELL> = {}) {
  const platform = {
    version: { value: { major: '1', minor: '36' } },
    nodes: { value: [ABLE] },
    ...change,
  }
  return examine({ ...WELL, release, platform, ...more })
    .filter(({ name }) => name === 'image volumes')
    .map(({ verdict, sentence, ...others }) => ({ verdict, sentence, ...others }))
}

const verdictsOf = (...words: Parameters<typeof checksOf>) =>
  checksOf(...words).map(({ verdict }) => verdict)

t.test('image volumes are checked only if a tool is mounted from its image', async (t) => {
  const { release: installed } = withRelease({
    offer: { value: { kind: 'whole', catalog: SHARED } },
  })
  t.strictSame(checksOf({}, { release: installed }), [])
  t.strictSame(checksOf({}, { release: undefined }), [])
  t.strictSame(verdictsOf({}), ['ok', 'ok'])
})

t.test('a sound cluster gets a sentence about what only a run can show', async (t) => {
  const [apiserver, nodes] = checksOf({})
  t.equal(apiserver?.sentence, 'the apiserver has version 1.36')
  t.match(
    nodes?.sentence,
    /^1 of 1 nodes have them\. The image must also be mounted without noexec/,
  )
})

t.test('an apiserver that is too old is a fault', async (t) => {
  const [check] = checksOf({ version: { value: { major: '1', minor: '34+' } } })
  t.match(check, {
    verdict: 'no',
    sentence:
      'the tools of cpu-profile, gpu-trace, mpi-trace are mounted from their image, which needs' +
      ' Kubernetes 1.35; the apiserver has version 1.34',
    remedy: /^set tools\.imageVolumes to false/,
  })
  t.equal(verdictsOf({ version: { value: { major: '1', minor: '35' } } })[0], 'ok')
  t.equal(verdictsOf({ version: { value: {} } })[0], 'unknown')
  t.equal(verdictsOf({ version: forbidden })[0], 'unknown')
})

const RUNTIMES: readonly (readonly [string, string, string])[] = [
  ['ok', 'v1.35.0', 'containerd://2.2.0'],
  ['ok', 'v1.35.0-gke.100', 'cri-o://1.33.1'],
  ['ok', 'v1.40.0', 'containerd://v3.0.0'],
  ['no', 'v1.34.9', 'containerd://2.4.2'],
  ['no', 'v1.36.3', 'containerd://2.1.5'],
  ['no', 'v1.36.3', 'containerd://1.7.27'],
  ['no', 'v1.36.3', 'cri-o://1.32.0'],
  ['look', 'v1.36.3', 'docker://28.0.0'],
  ['look', 'v1.36.3', 'constructor://1.0.0'],
  ['look', '', 'containerd://2.4.2'],
  ['no', '', 'containerd://1.6.20'],
]

t.test('a node needs a kubelet and a container runtime with image volumes', async (t) => {
  for (const [verdict, kubelet, runtime] of RUNTIMES) {
    const nodes = { value: [ABLE, node('a', kubelet, runtime)] }
    t.equal(verdictsOf({ nodes })[1], verdict, `${kubelet} ${runtime}`)
  }
  const windows = node('w', 'v1.30.0', 'containerd://1.7.0', { operatingSystem: 'windows' })
  t.equal(verdictsOf({ nodes: { value: [ABLE, windows] } })[1], 'ok')
  t.equal(verdictsOf({ nodes: forbidden })[1], 'unknown')
})

t.test('the check names the nodes, but not all of a large cluster', async (t) => {
  const old = Array.from({ length: 7 }, (_, index) => {
    return node(`old-${index}`, 'v1.36.3', 'containerd://1.7.27')
  })
  const [, check] = checksOf({ nodes: { value: [ABLE, ...old] } })
  t.match(check, {
    sentence:
      /^7 of 8 nodes cannot mount the tools of .*: old-0 \(v1\.36\.3, containerd:\/\/1\.7\.27\), .*old-4 \([^)]*\) and 2 more$/,
    remedy: /A node needs Kubernetes 1\.35, and containerd 2\.2 or cri-o 1\.33$/,
  })
})
