/**
 * `npm run docs:images` runs LAMMPS with its observer on a real Kubernetes. It writes all pictures
 * and samples of the README and the docs that show this run:
 * - docs/examples/lammps-pod.yaml: the first pod, as the apiserver stores it
 * - docs/examples/vitals.log: the log of the observer in this pod
 * - docs/images/report.png: the report of both pods
 * - the pictures and the headings of `npm run docs:report`
 *
 * The input is docs/examples/lammps.yaml.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeReportImages } from '../../docs/report-images.ts'
import { launchBrowser } from '../../src/runs/report/browser.ts'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, buildApplication, buildTarget, IMAGES, load } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { PAUSE_IMAGE } from '../machine/node.ts'
import { startWebhook } from '../webhook.ts'
import { onNode, ridealong, say } from './cluster.ts'

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const MANIFEST = join(DOCS, 'examples', 'lammps.yaml')
const NAMESPACE = ['-n', 'hpc']

async function loadImages(cluster: Cluster): Promise<void> {
  await buildTarget('observer', say)
  await buildApplication('lammps', say)
  for (const image of [PAUSE_IMAGE, IMAGES.observer, APPLICATIONS.lammps]) {
    await load(cluster, image)
  }
}

/**
 * Runs the Job until it completes, and writes its first pod and the log of that pod's observer to
 * files.
 */
async function runJob(cluster: Cluster): Promise<void> {
  await kubectl(cluster, ['create', 'namespace', 'hpc'])
  const account = ['wait', '--for=create', 'serviceaccount/default', ...NAMESPACE]
  await kubectl(cluster, [...account, '--timeout=300s'])
  await kubectl(cluster, ['apply', ...NAMESPACE, '-f', MANIFEST])
  say('LAMMPS computes for a minute')
  const complete = ['wait', '--for=condition=Complete', 'job/lammps', ...NAMESPACE]
  await kubectl(cluster, [...complete, '--timeout=300s'])
  const first = ['-l', 'batch.kubernetes.io/job-completion-index=0', '-o', 'name']
  const pod = (await kubectl(cluster, ['get', 'pods', ...first, ...NAMESPACE])).trim()
  const write = async (name: string, words: readonly string[]) =>
    writeFile(join(DOCS, 'examples', name), await kubectl(cluster, [...words, ...NAMESPACE]))
  await write('lammps-pod.yaml', ['get', pod, '-o', 'yaml'])
  await write('vitals.log', ['logs', pod, '-c', 'vitals'])
}

/** Collects the Job's logs, makes the report, and takes a screenshot of it. */
async function takePicture({ kubeconfig }: Cluster, folder: string): Promise<void> {
  const [rows, report] = [join(folder, 'lammps.jsonl'), join(folder, 'lammps.html')]
  const catalog = ['--observer-image', IMAGES.observer]
  const from = ['job/lammps', ...NAMESPACE, '--kubeconfig', kubeconfig]
  await ridealong('collect', ...from, ...catalog, '--to', rows)
  await ridealong('report', rows, '--to', report)
  const browser = await launchBrowser({ viewport: { width: 1200, height: 1000 } })
  try {
    const { page } = await browser.open(report, 'closed')
    await page.screenshot({ path: join(DOCS, 'images', 'report.png') })
  } finally {
    await browser.close()
  }
}

await onNode('hpc', async (cluster) => {
  await loadImages(cluster)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-docs-'))
  try {
    await runJob(cluster)
    await takePicture(cluster, folder)
    await writeReportImages()
  } finally {
    await rm(folder, { recursive: true })
    await webhook.remove()
  }
})
