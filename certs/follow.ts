/** A value that was read, and a revision that identifies its content. */
export interface Reading {
  /** Readings have the same revision if and only if they have the same content. */
  readonly revision: string
}

/** A source that is read periodically. The current value is always a valid reading. */
export interface Followed<T extends Reading> {
  readonly current: T
  /** The error message of the newest reading; undefined if that reading succeeded. */
  readonly trouble: string | undefined
  stop(): void
}

export interface FollowOptions<T> {
  /** Milliseconds between two readings. */
  readonly everyMs: number
  onChange(reading: T): void
  /** Called when an error first occurs or its message changes, not at every reading. */
  onTrouble(trouble: string): void
}

/**
 * Reads a source periodically, and keeps the last valid reading.
 *
 * Files are polled, not watched. A kubelet replaces a mounted Secret by swapping the symbolic link
 * `..data` (kubernetes pkg/volume/util/atomic_writer.go), and other mounts and file systems send no
 * events at all. Reading a few kilobytes every few seconds costs almost nothing.
 *
 * @param first a valid reading, which is used until a newer reading succeeds
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
  // Readings never overlap: a slow reading must not replace a newer one.
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
