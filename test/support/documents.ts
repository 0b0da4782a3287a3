import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Every page that is written for people. */
export const documents = globSync(['*.md', 'docs/**/*.md', 'helm/*.md'], { cwd: root }).sort()

/** Something in a document that a program can read. */
export interface Excerpt {
  /** Its path from the root of the project. */
  file: string
  /** That of its first line in the file, from 1. */
  line: number
  text: string
}

export interface Block extends Excerpt {
  language: string
  /** Why nobody can check it, as `<!-- not checked: … -->` in the line before it says; null: it is to be checked. */
  excuse: string | null
}

const fence = /(?: *<!-- not checked: ([^\n]+) -->\n)?^( *)```(\w+)\n(.*?)^ *```$/gms

/** The blocks of code in all documents. */
export const blocks: readonly Block[] = documents.flatMap(file => {
  const page = readFileSync(join(root, file), 'utf8')
  return [...page.matchAll(fence)].map(match => {
    const [whole, excuse = null, indent = '', language = '', code = ''] = match
    const line = lineAt(page, match.index + whole.indexOf('```')) + 1
    return { file, line, language, excuse, text: code.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
})

/** The texts between backticks in the sentences of all documents, on one line each. */
export const quoted: readonly Excerpt[] = documents.flatMap(file => {
  const page = readFileSync(join(root, file), 'utf8').replace(fence, whole => whole.replaceAll(/[^\n]/g, ' '))
  return [...page.matchAll(/`([^`]+)`/g)].map(match => ({
    file,
    line: lineAt(page, match.index),
    text: match[1]!.replaceAll(/\s+/g, ' '),
  }))
})

function lineAt(page: string, index: number): number {
  return page.slice(0, index).split('\n').length
}
