package example;

import com.nimbusds.jose.EncryptionMethod;
import com.nimbusds.jose.JWEAlgorithm;
import com.nimbusds.jose.JWEHeader;
import com.nimbusds.jose.JWEObject;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.ECDHEncrypter;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import io.busgate.Sealed;
import io.busgate.SendCommand;
import io.busgate.Sms;
import java.io.File;
import java.util.Map;

/** Seals the content of a command, so that only busgate's workers can read it (docs/personal-data.md). */
final class Seal {
  private Seal() {}

  /** @param keys a file that `busgate keys public` wrote, with a key of P-256 (the default) before any others */
  static Sealed sms(SendCommand command, Sms sms, String keys) throws Exception {
    ECKey key = JWKSet.load(new File(keys)).getKeys().get(0).toECKey();
    // The names of the fields are those of the schema.
    Map<String, Object> content = Map.of("sms_message", sms.getSmsMessage(), "sms_signature", sms.getSmsSignature());
    // The header also names the command, so that its text cannot be moved to another one.
    JWEHeader.Builder header =
        new JWEHeader.Builder(JWEAlgorithm.ECDH_ES, EncryptionMethod.A256GCM)
            .keyID(key.getKeyID())
            .customParam("id", String.valueOf(command.getId()))
            .customParam("account", command.getAccount())
            .customParam("phone", String.valueOf(command.getPhone()))
            .customParam("type", "sms");
    if (command.getHook() != null) header.customParam("hook", command.getHook());
    JWEObject jwe = new JWEObject(header.build(), new Payload(content));
    jwe.encrypt(new ECDHEncrypter(key));
    return Sealed.newBuilder().setType("sms").setJwe(jwe.serialize()).build();
  }
}
