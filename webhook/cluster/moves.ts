import { endsMove, readMovedFrom } from '../../src/core/namespaces/revision.ts'

export interface MoveOptions {
  /** The revision of this release; undefined for the default release. */
  readonly revision: string | undefined
  /** The time for which a namespace keeps the label `ridealong.dev/moved-from`. */
  readonly moveMs: number
  /** Called with the name of a namespace when the label should be removed. */
  onOver(name: string): void
}

/** The namespaces that were moved to or from this release a short time ago. */
export interface Moves {
  /**
   * Must be called for each namespace that has changed.
   *
   * @param object the Namespace; undefined if it was deleted
   */
  note(name: string, object: unknown): void
  /** Reports whether this server has seen the current label for `moveMs`. */
  isOver(name: string): boolean
  stop(): void
}

/**
 * Tracks how long this server has seen the label `ridealong.dev/moved-from` of each namespace. The
 * time begins when the label arrives through the watch, which is later than the move, so clocks
 * need not agree. A new server begins again.
 */
export function trackMoves({ revision, moveMs, onOver }: MoveOptions): Moves {
  const moves = new Map<string, { readonly from: string; readonly timer: NodeJS.Timeout }>()
  const over = new Set<string>()
  const forget = (name: string) => {
    clearTimeout(moves.get(name)?.timer)
    moves.delete(name)
    over.delete(name)
  }
  const end = (name: string) => {
    over.add(name)
    onOver(name)
  }
  return {
    note(name, object) {
      const from = endsMove(object, revision) ? readMovedFrom(object) : undefined
      if (from === moves.get(name)?.from) return
      forget(name)
      if (from === undefined) return
      moves.set(name, { from, timer: setTimeout(end, moveMs, name).unref() })
    },
    isOver: (name) => over.has(name),
    stop() {
      for (const name of moves.keys()) forget(name)
    },
  }
}
