/** Tells whoever runs an older Node than busgate needs; null: this one will do. */
export const nodeComplaint = complaintAbout(process.versions.node)

function complaintAbout(node: string): string | null {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return null
  return `busgate needs Node.js 22.19 or newer, and this is ${node}: install a newer one.`
}
