import type { Settings } from '../config/index.ts'
import { confluentRegistry, embeddedRegistry, type SchemaRegistry } from './registry.ts'

/** All embedded registries of this process are one, as the embedded bus is. */
const embedded = embeddedRegistry()

/** The registry that the settings name: the one in this process where none is. */
export function registryOf({ registry }: Settings): SchemaRegistry {
  const { url, username, password } = registry
  if (url === undefined) return embedded
  return confluentRegistry({
    url,
    ...(username && { username }),
    ...(password && { password: () => password.reveal() }),
  })
}
