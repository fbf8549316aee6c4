import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { childrenOf, type Pod, podOf } from '../pod.ts'
import { onPath } from '../prerequisites.ts'

/**
 * Returns the options of a test whose pods have network namespaces. If this machine cannot create
 * virtual Ethernet devices with `ip`, the test is skipped with a reason, unless CI is true.
 */
export function withNetworks<Options extends { readonly skip: false | string }>(
  options: Options,
): Options {
  if (options.skip !== false || process.env.CI === 'true' || canJoin()) return options
  return { ...options, skip: 'this machine cannot make network namespaces with ip and veth' }
}

function canJoin(): boolean {
  const words = ['--net', onPath('ip'), 'link', 'add', 'type', 'veth']
  return spawnSync('unshare', words).status === 0
}

/** Runs `ip` in the network of a pod. */
export function ip({ pid }: Pod, words: string): void {
  execFileSync('nsenter', ['-t', String(pid), '-n', onPath('ip'), ...words.split(' ')])
}

/** Starts a pod with a network of its own, which has only the loopback interface. */
export async function networkPodOf(t: Test): Promise<Pod> {
  const pod = await podOf(t, true)
  ip(pod, 'link set lo up')
  return pod
}

/** The addresses of the pods that {@link joinedPodsOf} starts, in their order. */
export const ADDRESSES = [
  { v4: '10.77.0.1', v6: 'fd77::1' },
  { v4: '10.77.0.2', v6: 'fd77::2' },
] as const

/**
 * Starts two pods, each with a network namespace, and connects their interfaces eth0 to each other.
 */
export async function joinedPodsOf(t: Test): Promise<readonly [Pod, Pod]> {
  const pods = [await networkPodOf(t), await networkPodOf(t)] as const
  ip(pods[0], `link add eth0 type veth peer name eth0 netns ${pods[1].pid}`)
  for (const [index, { v4, v6 }] of ADDRESSES.entries()) {
    const pod = pods[index] as Pod
    ip(pod, `address add ${v4}/24 dev eth0`)
    ip(pod, `address add ${v6}/64 dev eth0 nodad`)
    ip(pod, 'link set eth0 up')
  }
  return pods
}

/** Reads a counter of TCP in the network of a pod, such as RetransSegs. */
export function tcpCounter({ pid }: Pod, name: string): number {
  const text = readFileSync(`/proc/${pid}/net/snmp`, 'utf8')
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf(name)])
}

/** Reads the bytes that an interface of a pod has received and sent. */
export function interfaceBytes({ pid }: Pod, name: string): readonly [number, number] {
  const text = readFileSync(`/proc/${pid}/net/dev`, 'utf8')
  const line = text.split('\n').find((line) => line.trimStart().startsWith(`${name}:`)) ?? ''
  const numbers = line
    .slice(line.indexOf(':') + 1)
    .trim()
    .split(/ +/)
    .map(Number)
  return [numbers[0] ?? Number.NaN, numbers[8] ?? Number.NaN]
}

/**
 * Returns the process id on this machine of the child that has the id `inner` in its process
 * namespace.
 *
 * @throws if the process has no such child
 */
export function childWithInnerId(pid: number, inner: number): number {
  const child = childrenOf(pid).find((child) => {
    const status = readFileSync(`/proc/${child}/status`, 'utf8')
    const ids = status.match(/^NSpid:\s*(.*)$/m)?.[1]?.split(/\s+/)
    return Number(ids?.at(-1)) === inner
  })
  if (child === undefined) throw new Error(`process ${pid} has no child with the id ${inner}`)
  return child
}
