/** A core/v1 EnvVar of an observer. */
export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } }
}

/** A variable that the downward API fills. */
export function field(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

/**
 * A variable of plain text. The kubelet expands `$(NAME)` in values
 * (kubernetes third_party/forked/golang/expansion), and `$$` is its escape: without it a `$` of a
 * user's regular expression would be a template.
 */
export function plain(name: string, text: string): EnvVar {
  return { name, value: text.includes('$') ? text.replaceAll('$', '$$$$') : text }
}
