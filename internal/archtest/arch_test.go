package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gpunex/gpunex/"

// mayImport is the architecture: every package of ours, and the packages of ours that it may import. A package that
// is missing here fails the test, and so does a row without a package: the table stays the whole truth.
var mayImport = map[string]string{
	// 0 vocabulary: the standard library, and one small library each at most
	"internal/money":    "",
	"internal/id":       "",
	"internal/fault":    "",
	"internal/calendar": "",
	"internal/gpu":      "",
	"internal/proof":    "",
	// 1 plumbing and the wire
	"internal/protocol":      "",
	"internal/db":            "",
	"internal/db/builtin":    "",
	"internal/db/dbtest":     "db db/builtin",
	"internal/bus":           "",
	"internal/mail":          "",
	"internal/mail/mailtest": "",
	"internal/i18n":          "fault money",
	// 2 books: told facts, ask nobody
	"internal/ledger": "db fault id money",
	// 3 domain: a declared graph, no circles
	"internal/account":               "db fault id",
	"internal/notice":                "db id mail",
	"internal/provider":              "account notice calendar db fault gpu id",
	"internal/fleet":                 "db fault gpu id protocol",
	"internal/benchmark":             "account fleet notice db fault gpu id proof protocol",
	"internal/market":                "account fleet benchmark db fault gpu id money",
	"internal/rental":                "account market fleet ledger notice calendar db fault gpu id money protocol",
	"internal/payout":                "account ledger notice calendar db fault id money",
	"internal/payout/rail/simulated": "payout db money",
	// 4 edges
	"internal/agentlink": "benchmark fleet rental bus db fault protocol",
	"internal/web":       "web/ui account benchmark fleet ledger market notice payout provider rental i18n db fault gpu money",
	"internal/web/ui":    "account benchmark fleet ledger market notice payout provider rental i18n fault gpu money",
	"internal/worker":    "db",
	// host side: sees protocol, proof and gpu, never the domain
	"internal/agent":                       "agent/bench agent/hardware agent/workload protocol",
	"internal/agent/workload":              "protocol",
	"internal/agent/workload/workloadtest": "agent agent/workload protocol",
	"internal/agent/hardware":              "gpu protocol",
	"internal/agent/bench":                 "proof protocol",
	"internal/agent/guard":                 "agent/workload protocol",
	"internal/agent/simruntime":            "agent/workload protocol",
	"internal/agent/uplink":                "protocol",
	// 5 wiring
	"internal/controlplane":  "*",
	"internal/demo/demotest": "",
	"internal/demo":          "*",
	"internal/sim":           "*",
	"internal/archtest":      "",
	"cmd/gpunexd":            "controlplane demo account payout money",
	"cmd/gpunex-agent":       "agent agent/guard agent/hardware agent/simruntime agent/uplink agent/workload",
	"testimage":              "",
	"e2e":                    "demo",
}

// hostSide runs on machines of providers.
var hostSide = []string{"internal/agent", "cmd/gpunex-agent"}

// hostMaySee is what the host side shares with the platform: the wire and its vocabulary.
var hostMaySee = []string{"protocol", "proof", "gpu"}

// edges read the clock; everything else takes now as an argument.
var edges = []string{
	"cmd/", "internal/agent/", "internal/agentlink/", "internal/controlplane/", "internal/demo/", "internal/web/", "internal/worker/",
	"internal/account/service.go", // the session store is asked without a time
	"internal/bus/",               // connections have deadlines, and a credential is revoked from a moment on
	"testimage/", "e2e/",
}

// file is one source file of ours that isn't a test.
type file struct {
	name, pkg string
	ast       *ast.File
	src       []byte
}

// files parses the tree itself, without `go list`: what a test opens is an input of the test cache.
func files(t *testing.T) []file {
	t.Helper()
	var all []file
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".cache" || d.Name() == "bin" || d.Name() == ".data") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, file{name: name, pkg: path.Dir(name), ast: f, src: src})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f file) imports() (paths []string) {
	for _, i := range f.ast.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

func TestImportsFollowTheFloors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range files(t) {
		seen[f.pkg] = true
		allowed, known := mayImport[f.pkg]
		if !known {
			t.Errorf("%s has no floor: add it to mayImport, with a line in docs/adr/ if it opens a new way", f.pkg)
			continue
		}
		for _, imp := range f.imports() {
			ours, ok := strings.CutPrefix(imp, module)
			if !ok || allowed == "*" {
				continue
			}
			if !slices.Contains(strings.Fields(allowed), strings.TrimPrefix(ours, "internal/")) {
				t.Errorf("%s: %s must not import %s", f.name, f.pkg, ours)
			}
		}
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("%s is in the table and not in the tree", pkg)
		}
	}
}

func TestHostSideNeverSeesTheDomain(t *testing.T) {
	for pkg, allowed := range mayImport {
		if !slices.ContainsFunc(hostSide, func(h string) bool { return pkg == h || strings.HasPrefix(pkg, h+"/") }) {
			continue
		}
		for imp := range strings.FieldsSeq(allowed) {
			if imp != "agent" && !strings.HasPrefix(imp, "agent/") && !slices.Contains(hostMaySee, imp) {
				t.Errorf("%s is on the host side and must not see %s", pkg, imp)
			}
		}
	}
}

func TestSQLLivesInStores(t *testing.T) {
	for _, f := range files(t) {
		if strings.HasPrefix(f.pkg, "internal/db") || f.pkg == "internal/worker" || f.pkg == "internal/sim" || strings.HasPrefix(path.Base(f.name), "store") {
			continue
		}
		for _, imp := range f.imports() {
			if imp == "database/sql" || strings.HasPrefix(imp, "github.com/jackc/pgx") {
				t.Errorf("%s imports %s: SQL lives in store*.go and internal/db", f.name, imp)
			}
		}
	}
}

func TestOnlyEdgesReadTheClock(t *testing.T) {
	for _, f := range files(t) {
		if slices.ContainsFunc(edges, func(e string) bool { return strings.HasPrefix(f.name, e) }) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, s.Sel.Name) {
					t.Errorf("%s calls time.%s: take now as an argument", f.name, s.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestNothingHappensAtInit(t *testing.T) {
	for _, f := range files(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function: wire it by hand", f.name)
			}
		}
	}
}

// longest is where a file has become two.
const longest = 400

// mayBeLong are files that are one list.
var mayBeLong = []string{"internal/i18n/messages.go"}

func TestFilesStayShort(t *testing.T) {
	for _, f := range files(t) {
		if strings.HasSuffix(f.name, "_templ.go") || slices.Contains(mayBeLong, f.name) {
			continue
		}
		if n := strings.Count(string(f.src), "\n"); n > longest {
			t.Errorf("%s has %d lines: split it by verb", f.name, n)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, f := range files(t) {
		said[f.pkg] = said[f.pkg] || f.ast.Doc != nil
	}
	for pkg, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}
