import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A TCP relay between a program and a server, which a test can interrupt. */
export interface Relay {
  readonly port: number
  /** Closes all connections, and each new connection immediately, until `mend` is called. */
  cut(): void
  /**
   * Accepts data but does not forward it, until `mend` is called. These connections stay
   * blocked even after `mend`.
   */
  hang(): void
  mend(): void
}

/** Starts a relay to a port on loopback. */
export async function startRelay(t: Test, target: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isHanging = false
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      if (isHanging) socket.pause()
      else socket.pipe(other)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    cut()
    server.close()
  })
  return {
    port,
    cut,
    hang() {
      isHanging = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    mend() {
      isHanging = false
      isCut = false
    },
  }
}
