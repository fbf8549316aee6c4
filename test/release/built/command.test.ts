import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transform } from 'esbuild'
import t from 'tap'
import { makeAuthority, writeKeyPair } from '../../../certs/make.ts'
import { createThread } from '../../../cli/archive/thread.ts'
import { CASE_NAMESPACES } from '../../cases/read.ts'
import { run as runSources } from '../../cli/command.ts'
import { freePorts } from '../../free-ports.ts'
import { startStandIn } from '../../stand-ins/apiserver.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { until } from '../../until.ts'
import { ASKING, call, post, reviewOf, verdictOf } from '../../webhook/server.ts'
import { buildForTest } from './build-for-test.ts'

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))
const LAMMPS = join(REPOSITORY, 'docs/examples/lammps.yaml')
const VITALS = join(REPOSITORY, 'docs/examples/vitals.log')

const { folder, program, run } = await buildForTest(t)

/** Command lines that read no cluster, and each a part of the files beside the command. */
const COMMANDS: readonly (readonly string[])[] = [
  ['--version'],
  ['--help'],
  ['metrics'],
  ['metrics', 'mpi-trace', '-o', 'yaml'],
  ['metrics', '-o', 'json'],
  ['explain', '--offline', '-f', LAMMPS],
  ['explain', '--offline', '-f', LAMMPS, '--catalog', join(REPOSITORY, 'src/catalog')],
  ['inject', '-f', LAMMPS],
  ['annotate', '-f', LAMMPS, '--metric', 'vitals'],
  ['test', join(REPOSITORY, 'test/cases/workloads'), '--namespaces', 'missing'],
  ['convert', VITALS, '--format', 'csv'],
  ['report', VITALS],
  ['compare', VITALS, VITALS, '--report', '-'],
  ['top', VITALS, '--once'],
  ['completion', 'bash'],
  ['completion', 'fish'],
  ['completion', 'zsh'],
  ['__complete', 'metrics', 'mpi'],
  ['collect', 'job/lammps', '--kubeconfig', '/missing'],
  ['colect'],
]

for (const words of COMMANDS) {
  t.test(`the built command does the same: ${words.join(' ')}`, async (t) => {
    const { status, stdout, stderr } = run(words)
    const { code, out, err } = await runSources(words)
    t.equal(stderr, err)
    t.equal(stdout, out)
    t.equal(status, code)
  })
}

t.test('a Node that is too old gets one sentence', async (t) => {
  const old = ['/usr/bin/node', '/usr/bin/nodejs'].find((path) => {
    const { stdout = '' } = existsSync(path) ? spawnSync(path, ['-v'], { encoding: 'utf8' }) : {}
    return /^v(1\d|20|21)\./.test(stdout)
  })
  if (old === undefined)
    return t.pass('there is no old Node; node-problem.test.ts has the sentence')
  const { status, stdout, stderr } = spawnSync(old, [program, 'metrics'], { encoding: 'utf8' })
  t.match(stderr, /^ridealong: needs Node 22\.19 or later; this is Node v\d+\.\d+\.\d+\n$/)
  t.equal(stdout, '')
  t.equal(status, 2)
})

t.test('the first file has no syntax that Node 10 cannot read', async (t) => {
  const text = readFileSync(program, 'utf8')
  t.match(text, /^#!\/usr\/bin\/env node\n/)
  const { code: now } = await transform(text, { target: 'esnext' })
  const supported = { 'dynamic-import': true }
  const { code: before } = await transform(text, { target: 'node10', supported })
  t.equal(before, now, 'esbuild finds nothing to replace')
  t.equal(statSync(program).mode & 0o111, 0o111, 'it can be executed')
})

t.test('compiled modules are kept for the user alone', async (t) => {
  const caches = join(t.testdir({}), 'caches')
  run(['--version'], { XDG_CACHE_HOME: caches })
  const path = join(caches, 'ridealong/compile-cache')
  // Folders above that others can change make the cache unsafe.
  if (!existsSync(path)) return t.pass('the folder of the tests is not safe')
  t.equal(statSync(path).mode & 0o777, 0o700)
  t.ok(readdirSync(path).length > 0)
})

t.test('errors name the lines of the sources', async (t) => {
  const { stderr } = run(['metrics'], { NODE_OPTIONS: `--import=${failing()}` })
  t.match(stderr, /cli\/main\.ts:\d+:\d+/)

  /** A module that makes the first write to standard output fail with a stack. */
  function failing(): string {
    const code = `process.stdout.write = () => { throw new Error('full') }`
    return `data:text/javascript,${encodeURIComponent(code)}`
  }
})

t.test('each file that a module looks for beside itself is there', async (t) => {
  const modules = readdirSync(folder).filter((name) => name.endsWith('.mjs'))
  const texts = modules.map((name) => readFileSync(join(folder, name), 'utf8'))
  const sought = texts.flatMap((text) =>
    [...text.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g)].map(([, path = '']) => path),
  )
  t.strictSame(new Set(sought), new Set(['./progress-worker.ts', './rows-worker.ts']))
  for (const path of sought) t.ok(existsSync(join(folder, path.replace(/\.ts$/, '.mjs'))), path)
  const inTemplates = texts.flatMap((text) =>
    [...text.matchAll(/new URL\(`([^`]+)`, import\.meta\.url\)/g)].map(([, path = '']) => path),
  )
  t.strictSame(inTemplates.map((path) => path.split('$')[0]).sort(), ['./pages/', './ridealong.'])
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/^(?:import .*|\} )from "([^"]+)"/gm)].map(([, path = '']) => path),
  )
  t.ok(imported.length > 100)
  const others = imported.filter((path) => !(path.startsWith('./') || isBuiltin(path)))
  t.strictSame(others, [], 'only Node is needed')
})

t.test('each module can be loaded alone', async (t) => {
  const modules = readdirSync(folder).filter((name) => /\.mjs$/.test(name) && name !== 'main.mjs')
  t.ok(modules.some((name) => name.startsWith('archive-')))
  const loading = modules.map((name) => import(pathToFileURL(join(folder, name)).href))
  await t.resolves(Promise.all(loading))
})

t.test('the threads of the archive answer', async (t) => {
  const ask = async (name: string, message: object) => {
    const module = pathToFileURL(join(folder, `${name}.mjs`))
    const thread = createThread<object, object>(module, { heapMib: 200 })
    t.teardown(() => thread.stop())
    return thread.ask(message)
  }
  const run = { folder: t.testdir({}), logs: [], title: 'lammps' }
  t.match(await ask('rows-worker', { task: 'rows', run }), { written: { rows: 0, logs: 0 } })
  const look = { run: { key: 'a', logs: [] }, forgotten: [] }
  t.match(await ask('progress-worker', look), { isGivenUp: false })
})

t.test('the built webhook makes its certificate, and ends on a signal', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  const namespace = 'ridealong-system'
  const clientConfig = { service: { name: 'ridealong', namespace, path: '/mutate/pods' } }
  standIn.put('mutatingwebhookconfigurations', {
    metadata: { name: 'ridealong' },
    webhooks: [{ name: 'pods.ridealong.dev', clientConfig, failurePolicy: 'Ignore' }],
  })
  standIn.put('leases', { metadata: { name: 'own', namespace } })
  const config = t.testdir({ kubeconfig: kubeconfigOf(`https://127.0.0.1:${port}`, ca) })
  const child = spawn(process.execPath, [
    ...[program, 'serve', '--kubeconfig', join(config, 'kubeconfig')],
    ...['--own-certificate', `${namespace}/tls`, '--certificate-host', 'ridealong.hpc.svc'],
    ...['--certificate-lease', `${namespace}/own`, '--webhook-configuration', 'ridealong'],
    ...['--host', '127.0.0.1', '--port', '0', '--status-port', '0', '--drain-quiet', '0'],
  ])
  t.teardown(() => child.kill('SIGKILL'))
  await until('the webhook has a certificate', () => {
    return standIn.get('secrets', 'tls', namespace)?.data !== undefined
  })
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null], 'it ends by itself')
})

t.test('the built webhook answers a review', async (t) => {
  const files = join(t.testdir({}), 'tls')
  const authority = await makeAuthority()
  await writeKeyPair(files, authority, { names: ['127.0.0.1', 'localhost'] })
  const [port = 0, statusPort = 0] = await freePorts(2)
  const child = spawn(process.execPath, [
    ...[program, 'serve', '--cert', join(files, 'tls.crt'), '--key', join(files, 'tls.key')],
    ...['--namespaces', CASE_NAMESPACES, '--host', '127.0.0.1'],
    ...['--port', `${port}`, '--status-port', `${statusPort}`],
  ])
  t.teardown(() => child.kill('SIGKILL'))
  const ask = (path: string) => call({ port: statusPort, path }).catch(() => undefined)
  await until('the webhook is ready', async () => (await ask('/readyz'))?.status === 200)
  const review = JSON.stringify(reviewOf(ASKING))
  const answer = await post({ port, ca: authority.ca }, '/mutate/pods', review)
  t.ok(verdictOf(answer).patch !== undefined)
  t.match((await ask('/metrics'))?.body, /^# HELP /)
})

t.test('the libraries in the command are listed with their licences', async (t) => {
  const list = JSON.parse(readFileSync(join(folder, 'ridealong.cdx.json'), 'utf8'))
  t.match(list, { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
  t.match(list.metadata.component, { type: 'application', name: 'ridealong' })
  const components: readonly Component[] = list.components
  const find = (address: RegExp) => components.find(({ purl }) => address.test(purl))
  t.match(find(/^pkg:npm\/commander@/), {
    name: 'commander',
    licenses: [{ license: { id: 'MIT' } }],
  })
  t.match(find(/^pkg:npm\/%40kubernetes\/client-node@/), { group: '@kubernetes' })
  t.ok(find(/^pkg:npm\/uplot@/), 'the libraries of the pages are there')
  for (const name of ['esbuild', 'undici', 'typescript'])
    t.equal(find(new RegExp(`/${name}@`)), undefined, `${name} is not in the command`)
  for (const { purl } of components) t.match(purl, /^pkg:npm\/(%40[\w-]+\/)?[\w.-]+@\d+\.\d+\.\d+/)
  t.equal(new Set(components.map(({ purl }) => purl)).size, components.length)
  const texts = readFileSync(join(folder, 'licences.txt'), 'utf8')
  for (const { group, name, version } of components) {
    t.match(texts, `\n${group === undefined ? '' : `${group}/`}${name} ${version} (`)
  }
})

interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly purl: string
}
