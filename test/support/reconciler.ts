import type { Settings } from '../../src/config/index.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { startReconciling } from '../../src/reconciler/role.ts'

type Options = Parameters<typeof startReconciling>[0]

type Given = Pick<Options, 'bus' | 'registry' | 'telemetry' | 'clock'> & {
  settings: Settings
  /** The gateway's answer to an envelope. */
  post: (body: string) => Promise<Answer>
  /** Called when it closes its connection to the gateway. */
  disconnected?: () => void
}

/** Starts a reconciler, whose fatal errors fail the test, and joins its group. */
export async function joinReconciler({ settings, post, disconnected = () => {}, ...parts }: Given) {
  const started = await startReconciling({
    ...parts,
    settings: { ...settings, gateway: { ...settings.gateway, url: 'http://gateway' } },
    random: () => 0.5,
    connection: {
      post: async (body, lastCheck) => {
        const withheld = lastCheck()
        return withheld ? { kind: 'not_sent', cause: 'withheld', message: withheld } : post(body)
      },
      distrust: () => {},
      close: async () => disconnected(),
    },
    fatal: error => {
      throw error
    },
  })
  await started.join()
  return started
}
