import { type Settings, tlsOf } from '../config/index.ts'
import { confluentRegistry, embeddedRegistry, type SchemaRegistry } from './registry.ts'
import type { RegistryLogin } from './registry-login.ts'

/** All embedded registries of this process are one, as the embedded bus is. */
const embedded = embeddedRegistry()

/** The registry that the settings name: the one in this process where none is. */
export function registryOf(settings: Settings): SchemaRegistry {
  const { url } = settings.registry
  return url === undefined ? embedded : confluentRegistry({ url, ...registryLogin(settings) })
}

/** Tells how the settings say to sign in at the registry. */
export function registryLogin({ registry }: Settings): RegistryLogin {
  const { username, password, token, ssl } = registry
  return {
    ...(username && { username }),
    ...(password && { password: () => password.reveal() }),
    ...(token && { token: () => token.reveal() }),
    tls: () => tlsOf(ssl),
  }
}
