/** Names the first items of a list, and says how many more there are: `a, b, c and 2 more`. */
export function nameFirst(names: readonly string[], max = 3): string {
  const first = names.slice(0, max).join(', ')
  return names.length > max ? `${first} and ${names.length - max} more` : first
}
