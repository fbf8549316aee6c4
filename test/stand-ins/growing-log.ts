import type { ServerResponse } from 'node:http'

/**
 * A log that grows while it is read. The answers are those of a kubelet (kubernetes
 * staging/src/k8s.io/cri-client/pkg/logs/logs.go), with the options `follow`, `timestamps`,
 * `tailLines`, and `sinceTime` without its fraction of a second. The header of a response is sent
 * together with the first line.
 */
export interface GrowingLog {
  readonly answer: (response: ServerResponse, query: URLSearchParams) => void
  /** Adds a text, whose last line may be continued by the next text. */
  readonly append: (text: string) => void
  /** Closes all connections as a restarting proxy does: the rest of each response is missing. */
  readonly breakConnections: () => void
  /** Ends the log, and with it the responses. */
  readonly end: () => void
  /** Returns the number of connections that follow the log. */
  readonly followers: () => number
}

interface StampedText {
  readonly at: bigint
  text: string
}

/** @param text the text from before the first connection */
export function growingLog(text = ''): GrowingLog {
  const lines: StampedText[] = []
  const followers = new Map<ServerResponse, boolean>()
  let isEnded = false
  let last = 0n
  const add = (part: string): { readonly line: StampedText; readonly isNew: boolean } => {
    const open = lines.at(-1)
    if (open !== undefined && !open.text.endsWith('\n')) {
      open.text += part
      return { line: open, isNew: false }
    }
    const now = BigInt(Date.now()) * 1_000_000n
    last = now > last ? now : last + 1n
    const line = { at: last, text: part }
    lines.push(line)
    return { line, isNew: true }
  }
  const appendPart = (part: string) => {
    const { line, isNew } = add(part)
    for (const [response, hasStamps] of followers)
      response.write(isNew && hasStamps ? `${stampOf(line.at)} ${part}` : part)
  }
  const append = (more: string) => {
    const parts = more.split(/(?<=\n)/)
    for (const part of parts.filter((one) => one !== '')) appendPart(part)
  }
  append(text)
  return {
    append,
    followers: () => followers.size,
    breakConnections: () => {
      for (const response of followers.keys()) response.destroy()
      followers.clear()
    },
    end: () => {
      isEnded = true
      for (const response of followers.keys()) response.end()
      followers.clear()
    },
    answer: (response, query) => {
      const hasStamps = query.get('timestamps') === 'true'
      for (const { at, text } of chosenLines(lines, query))
        response.write(hasStamps ? `${stampOf(at)} ${text}` : text)
      if (isEnded || query.get('follow') !== 'true') return response.end()
      followers.set(response, hasStamps)
      response.on('close', () => followers.delete(response))
    },
  }
}

/** Returns the lines since `sinceTime`, and of these the last `tailLines`. */
function chosenLines(lines: readonly StampedText[], query: URLSearchParams) {
  const since = BigInt(Date.parse(query.get('sinceTime') ?? '1970-01-01T00:00:00Z'))
  const from = (since / 1000n) * 1_000_000_000n
  const chosen = lines.filter(({ at }) => at >= from)
  const tail = Number(query.get('tailLines') ?? chosen.length)
  return chosen.slice(Math.max(0, chosen.length - tail))
}

function stampOf(at: bigint): string {
  const [seconds, nanoseconds] = [at / 1_000_000_000n, at % 1_000_000_000n]
  const time = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  return `${time}.${String(nanoseconds).padStart(9, '0')}Z`
}
