import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { MINORS } from '../cluster/machine/cluster.ts'

const WORKFLOWS = fileURLToPath(new URL('../../.github/workflows', import.meta.url))

const WEEKLY = /^\d+ \d+ \* \* \d$/

const names = readdirSync(WORKFLOWS)
const read = (name: string) => readFileSync(join(WORKFLOWS, name), 'utf8')

t.test('each job of the release has only the permissions that it needs', async (t) => {
  const { permissions, jobs } = parse(read('release.yml'))
  t.strictSame(permissions, {})
  const granted = Object.entries(jobs as Record<string, { permissions: object }>).map(
    ([name, job]) => [name, job.permissions],
  )
  t.strictSame(Object.fromEntries(granted), {
    check: { contents: 'read' },
    images: { contents: 'read', packages: 'write', 'id-token': 'write' },
    chart: { contents: 'read', packages: 'write', 'id-token': 'write' },
    package: { contents: 'read', 'id-token': 'write' },
    release: { contents: 'write', 'id-token': 'write' },
  })
})

t.test('all cluster tests run on every supported version of Kubernetes', async (t) => {
  const { permissions, jobs } = parse(read('cluster.yml'))
  const { strategy, steps } = jobs.cluster
  t.strictSame([...strategy.matrix.kubernetes].sort(), [...MINORS].sort())
  t.equal(strategy['fail-fast'], false, 'a failure on one version does not end the others')
  const [all, images] = steps.slice(-2)
  const command = 'npm run test:cluster -- --kubernetes "$KUBERNETES"'
  t.equal(all.run, `${command} --all`)
  t.equal(images.run, `${command} --containerd 2 image-volumes`)
  t.equal(images.if, `matrix.kubernetes == '${MINORS[0]}'`, 'only this version has image volumes')
  t.strictSame(permissions, {})
  for (const job of [jobs.programs, jobs.cluster])
    t.strictSame(job.permissions, { contents: 'read' })
})

t.test('the workflow builds the documented version of Flux', async (t) => {
  const { COMMIT } = parse(read('cluster.yml')).jobs.programs.steps.find(
    ({ name }: { name?: string }) => name === 'build Flux',
  ).env
  const page = new URL('../../docs/contributing/controllers.md', import.meta.url)
  const built = new RegExp(`^\`${COMMIT}\` of github.com/flux-framework/flux-core`, 'm')
  t.match(readFileSync(page, 'utf8'), built)
})

t.test('the release publishes the list of the libraries in the command', async (t) => {
  const { jobs } = parse(read('release.yml'))
  const steps: readonly { run?: string }[] = jobs.package.steps
  t.match(steps.flatMap(({ run }) => run ?? []).join(), 'cp dist/ridealong.cdx.json assets/')
})

t.test(
  'no command of a workflow contains an expression, which could inject a command',
  async (t) => {
    for (const name of names) {
      const { jobs } = parse(read(name))
      const steps = Object.values(jobs as Record<string, { steps: { run?: string }[] }>).flatMap(
        (job) => job.steps,
      )
      const commands = steps.flatMap(({ run }) => run ?? [])
      t.ok(commands.length > 0)
      t.strictSame(
        commands.filter((run) => run.includes('$' + '{{')),
        [],
      )
    }
  },
)

t.test('the images of the latest release are built again every week with fixes', async (t) => {
  const { on, permissions, jobs } = parse(read('rebuild.yml'))
  t.match(on.schedule, [{ cron: WEEKLY }])
  t.strictSame(permissions, {})
  t.strictSame(jobs.latest.permissions, { contents: 'read' })
  const release = parse(read('release.yml')).jobs
  t.strictSame(jobs.images.permissions, release.images.permissions)
  t.strictSame(jobs.images.strategy.matrix, release.images.strategy.matrix)
  const steps: readonly { name?: string; run?: string; with?: object }[] = jobs.images.steps
  const find = (name: string) => steps.find((step) => step.name?.startsWith(name))
  t.match(find('build and push'), { with: { pull: true, 'no-cache': true } })
  const [, command = ''] = /^sed .* '(.*)' Dockerfile$/m.exec(find('remove')?.run ?? '') ?? []
  const text = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
  const { stdout } = spawnSync('sed', ['-E', command], { input: text, encoding: 'utf8' })
  t.match(stdout, /^FROM node:\S+-slim AS node$/m)
  t.notMatch(stdout, /^FROM .*@/m)
})

t.test('each pull request runs the script that CONTRIBUTING.md names', async (t) => {
  const { on, permissions, jobs } = parse(read('check.yml'))
  t.ok('pull_request' in on)
  t.match(on.schedule, [{ cron: WEEKLY }], 'advisories about crates appear without a change')
  t.strictSame(permissions, {})
  t.strictSame(jobs.check.permissions, { contents: 'read' })
  t.equal(jobs.check.steps.at(-1).run, 'bash .ci/run')
})

t.test('each measurement, and each test of an hour, runs in a workflow every week', async (t) => {
  const { on, jobs } = parse(read('bench.yml'))
  t.match(on.schedule, [{ cron: WEEKLY }])
  const commands: readonly string[] = jobs.bench.strategy.matrix.command
  const ran = new Set(commands.map((command) => command.split(' ')[0]))
  const packaged = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const scripts = Object.keys(JSON.parse(packaged).scripts)
  const weekly = scripts.filter((name) => /^(bench\b|test:(large|mutants)$)/.test(name))
  t.ok(weekly.length > 5)
  t.strictSame([...ran].sort(), weekly.sort())
  t.equal(jobs.bench.steps.at(-1).run, 'npm run $COMMAND')
})
