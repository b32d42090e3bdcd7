// Golden values from ICU (Node). Run in internal/i18n: node testdata/gen_icu.mjs > testdata/icu.json
const langs=['en','pt-PT','fr','de'], out=[];
const ints=[0,1,12,999,1000,1234,9999,10000,12345,1234567,-1234,-12345,1000000,2000000];
const micros=['0','1','999999','1000000','1234500000','12345500000','1234567123456','-12345000001','9007199254'];
for(const l of langs){
 for(const n of ints){out.push({l,k:'int',v:String(n),w:new Intl.NumberFormat(l).format(n)}); if(n>=0) out.push({l,k:'plural',v:String(n),w:new Intl.PluralRules(l).select(n)});}
 for(const m of micros){const neg=m.startsWith('-');const a=m.replace('-','').padStart(7,'0');const s=(neg?'-':'')+a.slice(0,-6)+'.'+a.slice(-6);out.push({l,k:'usdc',v:m,w:new Intl.NumberFormat(l,{minimumFractionDigits:6,maximumFractionDigits:6}).format(s)});}
 for(const p of [0,.5,.9873,1,-.034,12.5]) out.push({l,k:'pct',v:String(p),w:new Intl.NumberFormat(l,{style:'percent',minimumFractionDigits:1,maximumFractionDigits:1}).format(p)});
 for(let m=0;m<12;m++) for(const [k,s] of [['date','medium'],['long','long']]) out.push({l,k,v:`2026-${String(m+1).padStart(2,'0')}-0${m%9+1}`,w:new Intl.DateTimeFormat(l,{dateStyle:s,timeZone:'UTC'}).format(new Date(Date.UTC(2026,m,m%9+1)))});
 for(let d=0;d<7;d++) out.push({l,k:'weekday',v:String(d),w:new Intl.DateTimeFormat(l,{weekday:'short',timeZone:'UTC'}).format(new Date(Date.UTC(2026,5,1+d)))});
}
console.log(JSON.stringify(out,null,0).replace(/\},/g,'},\n'));
