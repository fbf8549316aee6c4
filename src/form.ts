/** How a result is printed: for people, or for programs. */
export const FORMS = ['text', 'json', 'yaml'] as const
export type Form = (typeof FORMS)[number]
