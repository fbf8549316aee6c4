import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/**
 * The range of ports that Linux assigns to connections and to servers that request any port
 * (ip(7)).
 */
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range'

/** Many servers, also those of Kubernetes, have fixed ports below this port. */
const LOWEST = 20_000
const HIGHEST = 65_535

/**
 * Returns free ports, for programs that cannot choose a free port themselves. The ports are outside
 * the range from which the system assigns ports, so they stay free until the programs listen on
 * them. If that range includes nearly all ports, the returned ports can also be in the range.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  const candidates = candidatePorts()
  while (ports.size < count) {
    const port = candidates[Math.floor(Math.random() * candidates.length)] ?? LOWEST
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

/** Returns one free port. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

function candidatePorts(): readonly number[] {
  const [first = 0, last = 0] = readRange()
  const all = Array.from({ length: HIGHEST - LOWEST }, (_, place) => LOWEST + place)
  const others = all.filter((port) => port < first || port > last)
  return others.length < 1000 ? all : others
}

/**
 * Returns the first and the last port of the range in the file RANGE. If the file is missing, the
 * result is the range that the IANA reserves for this use (RFC 6335).
 */
function readRange(): readonly number[] {
  try {
    return readFileSync(RANGE, 'utf8').trim().split(/\s+/).map(Number)
  } catch {
    return [49_152, 65_535]
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    await new Promise((resolve) => server.close(resolve))
    return true
  } catch {
    return false
  }
}
