package example;

import io.busgate.SendCommand;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;

/** Confluent's wire format: a zero byte, the schema's id in four bytes, the record. */
final class WireFormat {
  private static final byte MAGIC = 0;
  private static final int HEADER_BYTES = 5;

  private final Registry registry;

  WireFormat(Registry registry) {
    this.registry = registry;
  }

  byte[] encode(String topic, SendCommand command) throws IOException, InterruptedException {
    int id = registry.idOf(topic + "-value", registeredSchema());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(ByteBuffer.allocate(HEADER_BYTES).put(MAGIC).putInt(id).array());
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
    new SpecificDatumWriter<>(SendCommand.class).write(command, encoder);
    encoder.flush();
    return bytes.toByteArray();
  }

  /** Reads with the schema that the record was written with, and answers it as the one of this program. */
  <T extends SpecificRecord> T decode(byte[] bytes, Class<T> type) throws IOException, InterruptedException {
    ByteBuffer header = ByteBuffer.wrap(bytes);
    if (header.get() != MAGIC) throw new IOException("not in Confluent's wire format");
    var reader = new SpecificDatumReader<>(type);
    reader.setSchema(registry.schemaOf(header.getInt()));
    int length = bytes.length - HEADER_BYTES;
    return reader.read(null, DecoderFactory.get().binaryDecoder(bytes, HEADER_BYTES, length, null));
  }

  /** The file, since the schema in the generated class has properties of Java's and would not be found. */
  private static String registeredSchema() throws IOException {
    try (var file = WireFormat.class.getResourceAsStream("/send-command.avsc")) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
