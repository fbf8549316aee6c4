import t from 'tap'
import { ASKING, inTime, openSocket, post, reviewOf, startServer } from './server.ts'

t.test('a call that its caller aborted does not delay the shutdown', async (t) => {
  const running = await startServer(t, { drain: { quietMs: 1, limitMs: 600_000 } })
  const socket = await openSocket(running.port, running.ca)
  const head = 'POST /mutate/pods HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json'
  socket.write(`${head}\r\nContent-Length: 100\r\n\r\n{"kind":`)
  await post(running, '/mutate/pods', reviewOf(ASKING))
  socket.destroy()
  await post(running, '/mutate/pods', reviewOf(ASKING))
  t.not(await inTime(running.server.close()), 'late')
})
