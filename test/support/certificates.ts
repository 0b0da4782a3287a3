import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type Certificates = Awaited<ReturnType<typeof makeCertificates>>

/**
 * Makes a certificate authority, and certificates that it signed for a broker at 127.0.0.1 and for a client.
 * @returns PEM files (`caFile`; `brokerFile` with key and certificate), and the PEM texts of the client
 */
export async function makeCertificates() {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-certificates-'))
  const at = (name: string) => join(folder, name)
  const openssl = (command: string) => run('openssl', command.split(' '), { cwd: folder })
  const newKey = 'req -newkey rsa:2048 -nodes'
  const signed = '-days 2 -sha256'
  await openssl(`${newKey} ${signed} -x509 -keyout ca.key -out ca.pem -subj /CN=authority`)
  await writeFile(at('names'), 'subjectAltName=IP:127.0.0.1')
  for (const name of ['broker', 'client']) {
    await openssl(`${newKey} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`)
    const authority = '-CA ca.pem -CAkey ca.key -CAcreateserial -extfile names'
    await openssl(`x509 -req -in ${name}.csr -out ${name}.crt ${authority} ${signed}`)
  }
  const [ca, cert, key, brokerKey, brokerCert] = (await Promise.all(
    ['ca.pem', 'client.crt', 'client.key', 'broker.key', 'broker.crt'].map(name => readFile(at(name), 'utf8')),
  )) as [string, string, string, string, string]
  await writeFile(at('broker.pem'), `${brokerKey}${brokerCert}`)
  const remove = () => rm(folder, { recursive: true, force: true })
  return { caFile: at('ca.pem'), brokerFile: at('broker.pem'), ca, cert, key, remove }
}
