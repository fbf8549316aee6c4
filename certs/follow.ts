/** A reading that can be told from another one. */
export interface Reading {
  /** The same for the same content, another for any other. */
  readonly revision: string
}

/** What is being followed: always a reading that held. */
export interface Followed<T extends Reading> {
  readonly current: T
  /** Why the newest reading failed; undefined while it did not. */
  readonly trouble: string | undefined
  stop(): void
}

export interface FollowOptions<T> {
  /** Milliseconds between two readings. */
  readonly everyMs: number
  onChange(reading: T): void
  /** Called when trouble begins or changes, not at every reading. */
  onTrouble(trouble: string): void
}

/**
 * Reads again and again, and keeps the last reading that held.
 *
 * Files are read, not watched: a kubelet replaces a mounted Secret by swapping the symbolic link
 * `..data` (kubernetes pkg/volume/util/atomic_writer.go), other mounts and file systems send no
 * events at all, and a few kilobytes every few seconds cost nothing.
 *
 * @param first a reading that holds: nothing can be followed that was never good
 */
export function follow<T extends Reading>(
  first: T,
  read: () => Promise<T>,
  { everyMs, onChange, onTrouble }: FollowOptions<T>,
): Followed<T> {
  let current = first
  let trouble: string | undefined
  const take = (reading: T) => {
    if (reading.revision !== current.revision) {
      onChange(reading)
      current = reading
    }
    trouble = undefined
  }
  const fail = (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    if (message !== trouble) onTrouble(message)
    trouble = message
  }
  // One reading at a time: a slow one must not take the place of a newer one.
  let isReading = false
  const look = async () => {
    if (isReading) return
    isReading = true
    await read().then(take).catch(fail)
    isReading = false
  }
  const timer = setInterval(look, everyMs).unref()
  return {
    get current() {
      return current
    },
    get trouble() {
      return trouble
    },
    stop: () => clearInterval(timer),
  }
}
