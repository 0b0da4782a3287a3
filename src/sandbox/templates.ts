export interface Template {
  id: number
  text: string
  /** A name (SMS) or a signature (Viber). */
  label: string
  /** ISO 8601 with offset. */
  created: string
}

/** One account's templates of one kind, in memory. */
export interface Templates {
  add(text: string, label: string, now: number): Template
  /** Deletes what matches every criterion that is given, nothing when none is. Answers how many. */
  remove(criteria: { id?: number; text?: string }): number
  list(): Template[]
}

export function createTemplates(): Templates {
  const templates = new Map<number, Template>()
  let nextId = 1
  return {
    add(text, label, now) {
      const template = { id: nextId++, text, label, created: new Date(now).toISOString().replace('Z', '+00:00') }
      templates.set(template.id, template)
      return template
    },
    remove({ id, text }) {
      if (id === undefined && text === undefined) return 0
      const doomed = [...templates.values()].filter(t => (id ?? t.id) === t.id && (text ?? t.text) === t.text)
      for (const template of doomed) templates.delete(template.id)
      return doomed.length
    },
    list: () => [...templates.values()],
  }
}
