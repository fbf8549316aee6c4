/**
 * `npm run docs:training` trains a model with PyTorch itself on a real Kubernetes, in two pods that
 * exchange data with Gloo. Rank 1 loads its data slowly. It writes the pictures of
 * docs/examples/ml.md: docs/images/training-*.png.
 *
 * TORCH_PYTHON is the Python of a virtual environment with PyTorch. The pods see it through volumes
 * of the host.
 */
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../../src/runs/report/browser.ts'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, buildAndLoad } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { writeCatalogWithTools } from '../release/tool-images.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'
import { onNode, ridealong, say } from './cluster.ts'

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../../tools/python/programs/training.py', import.meta.url))
const NAMESPACE = ['-n', 'ml']
const SECONDS = 120

/** Rank 0 writes its address into a folder that both pods see. */
const COMMAND = `
export RANK=$JOB_COMPLETION_INDEX
if [ $RANK = 0 ]; then hostname -i > /meet/new && mv /meet/new /meet/address; fi
until [ -s /meet/address ]; do sleep 0.1; done
export MASTER_ADDR=$(cat /meet/address)
exec "$TORCH_PYTHON" /app/train.py ${SECONDS}`

/** @param python the path of the Python that has PyTorch */
async function jobWith(python: string, meeting: string) {
  const environment = dirname(dirname(python))
  const base = dirname(dirname(await realpath(python)))
  const mounts = { [environment]: environment, [base]: base, [PROGRAM]: '/app/train.py' }
  const paths = Object.entries({ ...mounts, [meeting]: '/meet' })
  const variables = { TORCH_PYTHON: python, WORLD_SIZE: '2', MASTER_PORT: '29500' }
  const container = {
    name: 'train',
    image: APPLICATIONS.python,
    command: ['sh', '-c', COMMAND],
    resources: { requests: { cpu: '500m' } },
    env: Object.entries(variables).map(([name, value]) => ({ name, value })),
    volumeMounts: paths.map(([, mountPath], index) => ({ name: `host-${index}`, mountPath })),
  }
  const volumes = paths.map(([path], index) => ({ name: `host-${index}`, hostPath: { path } }))
  const annotations = { 'ridealong.dev/inject': 'vitals, python-profile, torch-collectives' }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'train' },
    spec: {
      ...{ completions: 2, parallelism: 2, completionMode: 'Indexed', backoffLimit: 0 },
      template: {
        metadata: { annotations },
        spec: { restartPolicy: 'Never', containers: [container], volumes },
      },
    },
  }
}

async function runJob(cluster: Cluster, python: string, meeting: string): Promise<void> {
  await kubectl(cluster, ['create', 'namespace', 'ml'])
  await kubectl(cluster, ['label', 'namespace', 'ml', 'ridealong.dev/tools=true'])
  const account = ['wait', '--for=create', 'serviceaccount/default', ...NAMESPACE]
  await kubectl(cluster, [...account, '--timeout=300s'])
  const job = JSON.stringify(await jobWith(python, meeting))
  await kubectl(cluster, ['apply', ...NAMESPACE, '-f', '-'], job)
  say(`PyTorch trains for ${SECONDS} seconds`)
  const complete = ['wait', '--for=condition=Complete', 'job/train', ...NAMESPACE]
  await kubectl(cluster, [...complete, `--timeout=${SECONDS + 180}s`])
}

/** Collects the logs, makes the report, and takes the pictures of it. */
async function takePictures({ kubeconfig }: Cluster, folder: string): Promise<void> {
  const [rows, report] = [join(folder, 'train.jsonl'), join(folder, 'train.html')]
  await ridealong('collect', 'job/train', ...NAMESPACE, '--kubeconfig', kubeconfig, '--to', rows)
  await ridealong('report', rows, '--to', report)
  const browser = await launchBrowser({ viewport: { width: 1200, height: 720 } })
  try {
    const { page } = await browser.open(report, 'closed')
    await page.screenshot({ path: join(IMAGES, 'training-findings.png') })
    const { page: open } = await browser.open(report)
    await showWaiting(open)
    await open.screenshot({ path: join(IMAGES, 'training-waiting.png') })
  } finally {
    await browser.close()
  }
}

/** Shows the lines in which the main thread of pod 1 waited, below the bar of the page. */
async function showWaiting(page: Page): Promise<void> {
  const programs = page.locator('#profile-program option')
  const label = (await programs.allTextContents()).find((one) => one.includes('main thread'))
  if (label === undefined) throw new Error('the report has no profile of a main thread')
  await page.locator('#profile-program').selectOption({ label })
  await page.locator('#profile-pod').selectOption('1')
  await page.locator('#profiles').evaluate((place: { scrollIntoView(): void }) => {
    place.scrollIntoView()
  })
  await page.mouse.wheel(0, -60)
  const widest = page.locator('#profiles g.frame rect').first()
  await until('the frames have grown to their width', async () => {
    return Number(await widest.getAttribute('width')) > 1100
  })
}

const python = process.env.TORCH_PYTHON
if (python === undefined) throw new Error('set TORCH_PYTHON to a Python that has PyTorch')
await onNode('ml', async (cluster) => {
  await buildAndLoad(cluster, { targets: ['observer', 'tools'], applications: ['python'] }, say)
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-docs-'))
  const [catalog, meeting] = [join(folder, 'catalog'), join(folder, 'meet')]
  for (const path of [catalog, meeting]) await mkdir(path)
  await chmod(meeting, 0o777)
  writeCatalogWithTools(catalog)
  const words = ['--catalog', catalog, '--no-built-in-metrics']
  const webhook = await startWebhook(cluster, { words })
  try {
    await runJob(cluster, python, meeting)
    await takePictures(cluster, folder)
  } finally {
    await rm(folder, { recursive: true })
    await webhook.remove()
  }
})
