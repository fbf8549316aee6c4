/** A real Kubernetes for tests: `npm run cluster`, `npm run cluster -- down`. */
import { Command, Option } from 'commander'
import { down, find, MINORS, up } from './cluster.ts'
import { isRunning } from './daemon.ts'
import { problemOfPrerequisites } from './prerequisites.ts'

const say = (line: string) => process.stderr.write(`${line}\n`)

const minor = new Option('--kubernetes <minor>', 'the version').choices(MINORS).default(MINORS[0])

const program = new Command('cluster')
  .description('a real Kubernetes on loopback, for tests')
  .addHelpText(
    'after',
    `
Examples:
  $ export KUBECONFIG=$(npm run -s cluster)   # start one, or find it
  $ npm run cluster -- up --no-node           # the control plane alone: no root needed
  $ npm run cluster -- status
  $ npm run cluster -- down                   # end it; nothing is left`,
  )

program
  .command('up', { isDefault: true })
  .description("start it, and print the kubeconfig's path")
  .addOption(minor)
  .option('--no-node', 'without containerd and kubelet: pods are admitted and do not run')
  .action(async (options) => {
    const problem = await problemOfPrerequisites(options.node)
    if (problem !== undefined) throw new Error(problem)
    const cluster = await up({ minor: options.kubernetes, hasNode: options.node, say })
    process.stdout.write(`${cluster.kubeconfig}\n`)
  })

program
  .command('status')
  .description('what runs')
  .addOption(minor)
  .action(async ({ kubernetes }) => {
    const cluster = await find(kubernetes)
    for (const daemon of cluster?.daemons ?? []) {
      const state = isRunning(daemon) ? 'running' : 'ended'
      process.stdout.write(`${daemon.name}\t${daemon.pid}\t${state}\n`)
    }
    const isWhole = cluster?.daemons.every(isRunning) ?? false
    process.exitCode = isWhole ? 0 : 1
  })

program
  .command('down')
  .description('end what was started, and leave nothing')
  .addOption(minor)
  .action(({ kubernetes }) => down(kubernetes, say))

program.parseAsync().catch((error) => {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
})
