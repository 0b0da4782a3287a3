// Sends one SMS through busgate and prints its results: go run . ID PHONE TEXT
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

var (
	brokers     = strings.Split(env("KAFKA_BROKERS", "localhost:9092"), ",")
	registryURL = env("REGISTRY_URL", "http://localhost:8081")
	commands    = env("COMMANDS_TOPIC", "busgate.commands")
	results     = env("RESULTS_TOPIC", "busgate.results")
	schemaFile  = env("SCHEMA_FILE", "../../schemas/send-command.avsc")
)

// Command has the fields that this program sets; those left out of the schema's get their defaults.
type Command struct {
	ID            int64  `avro:"id"`
	Phone         int64  `avro:"phone"`
	Message       any    `avro:"message"`
	CorrelationID string `avro:"correlationId"`
}

// Sms has the names of the gateway's interface.
type Sms struct {
	Message   string `avro:"sms_message"`
	Signature string `avro:"sms_signature"`
}

// Result has the fields that this program reads.
type Result struct {
	ID        int64   `avro:"id"`
	Outcome   string  `avro:"outcome"`
	Final     bool    `avro:"final"`
	MsgID     *string `avro:"msgId"`
	ErrorCode *string `avro:"errorCode"`
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go run . ID PHONE TEXT")
	}
	id, err := strconv.ParseInt(os.Args[1], 10, 64)
	check(err)
	phone, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	registry, err := sr.NewClient(sr.URLs(registryURL))
	check(err)

	ctx := context.Background()
	sms := Sms{Message: os.Args[3], Signature: "Shop"}
	check(send(ctx, registry, Command{ID: id, Phone: phone, Message: sms, CorrelationID: "example-go"}))
	check(printResults(ctx, registry, id))
}

// send returns when every in-sync replica holds the command. With an error it was perhaps written, and the same id with the
// same text may be sent again.
func send(ctx context.Context, registry *sr.Client, command Command) error {
	value, err := encode(ctx, registry, command)
	if err != nil {
		return err
	}
	// By default franz-go is idempotent with acks=all, and chooses partitions as Java and busgate do.
	producer, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer producer.Close()
	key := strconv.FormatInt(command.ID, 10)
	return producer.ProduceSync(ctx, &kgo.Record{Topic: commands, Key: []byte(key), Value: value}).FirstErr()
}

// encode writes Confluent's wire format: a zero byte, the schema's id in four bytes, the record.
func encode(ctx context.Context, registry *sr.Client, command Command) ([]byte, error) {
	file, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	// Without spaces, as busgate registers it: Apicurio looks schemas up by their text.
	var text bytes.Buffer
	if err := json.Compact(&text, file); err != nil {
		return nil, err
	}
	// Looked up, never registered: who runs busgate does that.
	registered, err := registry.LookupSchema(ctx, commands+"-value", sr.Schema{Schema: text.String()})
	if err != nil {
		return nil, err
	}
	schema, err := avro.Parse(text.String())
	if err != nil {
		return nil, err
	}
	// The name says which record of the union an Sms is; a message of a type without one is refused.
	avro.Register("io.busgate.Sms", Sms{})
	body, err := avro.Marshal(schema, command)
	if err != nil {
		return nil, err
	}
	header, err := new(sr.ConfluentHeader).AppendEncode(nil, registered.ID, nil)
	return append(header, body...), err
}

// printResults prints the results of one command, up to the final one.
func printResults(ctx context.Context, registry *sr.Client, id int64) error {
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("example-go"),
		kgo.ConsumeTopics(results),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // the default would show results of aborted transactions
		kgo.AutoCommitMarks(),
	)
	if err != nil {
		return err
	}
	defer consumer.Close()
	schemas := map[int]avro.Schema{}
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			result, err := decode(ctx, registry, schemas, record.Value)
			if err != nil {
				return err
			}
			consumer.MarkCommitRecords(record) // worked on: the next commit may pass it
			if result.ID != id {
				continue
			}
			fmt.Println(result.ID, result.Outcome, text(result.ErrorCode), text(result.MsgID))
			if result.Final && result.Outcome != "DUPLICATE" {
				return consumer.CommitMarkedOffsets(ctx)
			}
		}
	}
}

// decode reads with the schema that the record was written with; fields that Result lacks are passed over.
func decode(ctx context.Context, registry *sr.Client, schemas map[int]avro.Schema, value []byte) (Result, error) {
	var result Result
	schemaID, body, err := new(sr.ConfluentHeader).DecodeID(value)
	if err != nil {
		return result, err
	}
	if schemas[schemaID] == nil {
		written, err := registry.SchemaByID(ctx, schemaID)
		if err != nil {
			return result, err
		}
		if schemas[schemaID], err = avro.Parse(written.Schema); err != nil {
			return result, err
		}
	}
	return result, avro.Unmarshal(schemas[schemaID], body, &result)
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func env(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return otherwise
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
