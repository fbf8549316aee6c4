/** `npm run cluster` starts a real Kubernetes for tests, and `npm run cluster -- down` ends it. */
import { Command, Option } from 'commander'
import { down, find, type Kind, MINORS, type Minor, up } from './machine/cluster.ts'
import { isRunning } from './machine/daemon.ts'
import { problemOfPrerequisites } from './machine/prerequisites.ts'

const say = (line: string) => process.stderr.write(`${line}\n`)

/** Adds the options of every verb, which select the cluster. */
function withKind(command: Command): Command {
  return command
    .addOption(new Option('--kubernetes <minor>', 'the version').choices(MINORS).default(MINORS[0]))
    .option('--no-node', 'without containerd and kubelet: pods are admitted, but do not run')
}

interface Chosen {
  readonly kubernetes: Minor
  readonly node: boolean
}

const kindOf = ({ kubernetes, node }: Chosen): Kind => ({ minor: kubernetes, hasNode: node })

const program = new Command('cluster')
  .description('a real Kubernetes on loopback, for tests')
  .addHelpText(
    'after',
    `
Examples:
  $ export KUBECONFIG=$(npm run -s cluster)   # start a cluster, or use the running one
  $ npm run cluster -- up --no-node           # only the control plane: no root needed
  $ npm run cluster -- status
  $ npm run cluster -- down                   # end the cluster and remove its files`,
  )

withKind(program.command('up', { isDefault: true }))
  .description("start the cluster, and print the kubeconfig's path")
  .action(async (chosen: Chosen) => {
    const problem = await problemOfPrerequisites(chosen.node)
    if (problem !== undefined) throw new Error(problem)
    const cluster = await up(kindOf(chosen), say)
    process.stdout.write(`${cluster.kubeconfig}\n`)
  })

withKind(program.command('status'))
  .description('list the processes of the cluster')
  .action(async (chosen: Chosen) => {
    const cluster = await find(kindOf(chosen))
    for (const daemon of cluster?.daemons ?? []) {
      const state = isRunning(daemon) ? 'running' : 'ended'
      process.stdout.write(`${daemon.name}\t${daemon.pid}\t${state}\n`)
    }
    const isWhole = cluster?.daemons.every(isRunning) ?? false
    process.exitCode = isWhole ? 0 : 1
  })

withKind(program.command('down'))
  .description('end the cluster and remove its files')
  .action((chosen: Chosen) => down(kindOf(chosen), say))

program.parseAsync().catch((error) => {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
})
