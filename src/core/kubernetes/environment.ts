/** A core/v1 EnvVar of an observer. */
export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } }
}

/** Returns a variable whose value comes from the downward API. */
export function field(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

/**
 * Returns a variable with a literal value. Each `$` is escaped as `$$`, because the kubelet expands
 * `$(NAME)` in values (kubernetes third_party/forked/golang/expansion) and would otherwise change a
 * `$` in a user's regular expression.
 */
export function plain(name: string, text: string): EnvVar {
  return { name, value: text.includes('$') ? text.replaceAll('$', '$$$$') : text }
}
