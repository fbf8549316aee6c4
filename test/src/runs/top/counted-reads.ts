/** Counts how often fields and elements of objects are read. */
export interface CountedReads {
  /** Returns an object that is read as the given one. */
  count<Value extends object>(value: Value): Value
  /** The number of reads of all these objects. */
  readonly reads: number
}

export function countReads(): CountedReads {
  let reads = 0
  return {
    get reads() {
      return reads
    },
    count: (value) =>
      new Proxy(value, {
        get: (target, key) => {
          reads += 1
          const found = Reflect.get(target, key)
          // The methods of a Map do not work with a proxy.
          return typeof found === 'function' && target instanceof Map ? found.bind(target) : found
        },
      }),
  }
}
