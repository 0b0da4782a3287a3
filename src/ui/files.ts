import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface PageFile {
  contentType: string
  body: Buffer
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Reads the files that the browser gets, by their paths: those of page/ as they are, and lit-html as its package has it. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const folder = new URL('./page/', import.meta.url)
  const files = readdirSync(folder).map((name): [string, URL] => [`/${name}`, new URL(name, folder)])
  files.push(['/lit-html.js', new URL(import.meta.resolve('lit-html'))])
  const found = files.flatMap(([path, file]): [string, PageFile][] => {
    const contentType = types[extname(path)]
    return contentType ? [[path, { contentType, body: readFileSync(fileURLToPath(file)) }]] : []
  })
  const page = new Map(found)
  return page.set('/', page.get('/index.html')!)
}
