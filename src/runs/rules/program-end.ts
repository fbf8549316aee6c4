/** Whether the processes of a program ended as the program itself ends them. */
export type ProgramEnd =
  | { readonly state: 'finished' }
  | {
      readonly state: 'unfinished'
      /** What is missing, in a sentence. */
      readonly reason: string
      /** Which process ended first, in a sentence; null if that is not known. */
      readonly first: string | null
    }
