import { Argument, type Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import type { Session } from '../shared/session.ts'
import { SHELLS, type Shell } from './completion.ts'

/** Declares the verb `completion`. */
export function declareCompletion(program: Command, session: Session): void {
  program
    .command('completion')
    .description('print a script that completes verbs, options and metrics in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      [
        '',
        'Add one of these lines to the start-up file of your shell:',
        '  ~/.bashrc                   source <(ridealong completion bash)',
        '  ~/.zshrc, after compinit    source <(ridealong completion zsh)',
        '  ~/.config/fish/config.fish  ridealong completion fish | source',
      ].join('\n'),
    )
    .addHelpText('after', helpEnd({ examples: SHELLS.map((shell) => `completion ${shell}`) }))
    .action(async (shell: Shell) => {
      const { readScript } = await import('./completion.ts')
      session.print({ document: await readScript(shell) })
    })
}
