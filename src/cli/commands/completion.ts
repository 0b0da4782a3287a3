import { scripts } from '../completion/scripts.ts'
import { choiceFlag, command, UsageError } from '../framework/command.ts'

const shells = Object.keys(scripts) as (keyof typeof scripts)[]

export const completion = command({
  about: [
    'Prints a script that completes commands, flags, their values and names of settings. To have it in each new shell:',
    "  bash  echo 'source <(busgate completion bash)' >> ~/.bashrc",
    "  zsh   echo 'source <(busgate completion zsh)' >> ~/.zshrc    # behind compinit",
    '  fish  busgate completion fish > ~/.config/fish/completions/busgate.fish',
    'If only npx finds busgate, make it a command first: busgate() { npx busgate "$@"; }, in fish: alias busgate="npx busgate"',
  ].join('\n'),
  flags: { shell: { ...choiceFlag('SHELL', shells, 'The shell.'), bare: true } },
  async run({ shell }) {
    if (shell === undefined) throw new UsageError(`completion needs a SHELL, one of ${shells.join(', ')}`)
    process.stdout.write(`${scripts[shell]}\n`)
    return 0
  },
})
