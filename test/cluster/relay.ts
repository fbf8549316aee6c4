import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A TCP relay between a program and a server, which a test can interrupt. */
export interface Relay {
  readonly port: number
  /** Breaks every connection and refuses new ones, until `mend` is called. */
  cut(): Promise<void>
  /**
   * Accepts data and forwards none, until `mend` is called. Connections that were stuck stay stuck.
   */
  hang(): void
  mend(): Promise<void>
}

/** Starts a relay to a port on loopback. */
export async function startRelay(t: Test, target: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isHanging = false
  const server = createServer((near) => {
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
  const listen = async (port: number) => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const cut = async () => {
    if (!server.listening) return
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }
  t.teardown(cut)
  return {
    port,
    cut,
    hang() {
      isHanging = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    async mend() {
      isHanging = false
      if (!server.listening) await listen(port)
    },
  }
}
